#pragma once

#include <string>

namespace sluice {

/// The node's name as the kernel has it.
[[nodiscard]] std::string host_name();

/// Sixteen hexadecimal digits, XXH3-64 of this program's own file: equal on two ranks exactly when they run the same
/// build. Throws Error (io_error) when the file cannot be read.
[[nodiscard]] std::string build_id();

}  // namespace sluice
