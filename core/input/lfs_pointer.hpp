#pragma once

#include <string_view>

namespace sluice {

/// How the small text begins that stands in for a file of a repository until Git LFS has fetched it.
inline constexpr std::string_view lfs_pointer_start = "version https://git-lfs.github.com/spec/";

/// Of a file's first bytes, at least as many as lfs_pointer_start has.
[[nodiscard]] constexpr bool is_lfs_pointer(std::string_view start) noexcept {
    return start.starts_with(lfs_pointer_start);
}

}  // namespace sluice
