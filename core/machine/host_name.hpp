#pragma once

#include <string>

namespace sluice {

/// The node's name as the kernel has it.
[[nodiscard]] std::string host_name();

}  // namespace sluice
