#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// The node's name as the kernel has it.
[[nodiscard]] std::string host_name();

/// Sixteen hexadecimal digits, XXH3-64 of this program's own file: equal on two ranks exactly when they run the same
/// build. Throws Error (io_error) when the file cannot be read.
[[nodiscard]] std::string build_id();

/// "Intel(R) Xeon(R) Platinum 8480+": of this host's first CPU; empty where the kernel does not say.
[[nodiscard]] std::string cpu_model();

/// The version of NVIDIA's kernel driver, "580.65.06"; empty: there is none.
[[nodiscard]] std::string nvidia_driver();

/// The same of the contents of /proc/cpuinfo and /proc/driver/nvidia/version.
[[nodiscard]] std::string cpu_model_in(std::string_view cpuinfo);
[[nodiscard]] std::string driver_in(std::string_view version);

}  // namespace sluice
