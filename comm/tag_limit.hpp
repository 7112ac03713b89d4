#pragma once

#include <cstdint>

namespace sluice {

/// Throws Error (configuration) when the tags of a rank with `devices` devices and `depth` slots each go beyond
/// `limit`, MPI's largest tag.
void check_tags(std::uint64_t devices, std::uint64_t depth, std::uint64_t limit);

/// The largest tag of this MPI, which is initialized.
[[nodiscard]] std::uint64_t read_largest_tag();

}  // namespace sluice
