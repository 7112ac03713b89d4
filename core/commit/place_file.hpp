#pragma once

#include <filesystem>
#include <string_view>

namespace sluice {

enum class Placed {
    now,      ///< Placed by this call.
    earlier,  ///< It was there before: the same file, or one with the same bytes, synced.
    differs,  ///< Something else is there, and was left unchanged.
};

/// Makes the finished, synced file `from` appear at `to` atomically, never replacing another file: by a hard link, or
/// without these by a synced copy in the folder `scratch`, of the same file system, that is renamed. Durable once the
/// caller has synced the folder of `to`. Throws Error (io_error).
///
/// On a file system with neither hard links nor a rename that replaces nothing, `to` is checked just before the rename:
/// a file that appears in that moment is replaced.
[[nodiscard]] Placed place_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                const std::filesystem::path& scratch);

/// The same for a short text, first written and synced in the folder `scratch`; also syncs the folder of `to`.
[[nodiscard]] Placed place_text(std::string_view text, const std::filesystem::path& to,
                                const std::filesystem::path& scratch);

}  // namespace sluice
