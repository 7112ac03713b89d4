#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/config/config.hpp"

namespace sluice {

/// The words of the job file, in the order of the enumerators.
inline constexpr std::array<std::string_view, 6> input_format_names{"csv", "jsonl", "txt", "npy", "bin", "u8"};
inline constexpr std::array<std::string_view, 4> output_format_names{"csv", "jsonl", "npy", "txt"};
inline constexpr std::array<std::string_view, 3> nonfinite_policy_names{"error", "flag", "allow"};
inline constexpr std::array<std::string_view, 3> gpu_request_names{"gpus-per-node", "gres", "none"};
inline constexpr std::array<std::string_view, 2> launcher_names{"srun", "mpirun"};
inline constexpr std::array<std::string_view, 3> resume_mode_names{"requeue", "dependency", "manual"};

[[nodiscard]] constexpr std::string_view name_of(InputFormat f) {
    return input_format_names[std::size_t(f)];
}
[[nodiscard]] constexpr std::string_view name_of(OutputFormat f) {
    return output_format_names[std::size_t(f)];
}
[[nodiscard]] constexpr std::string_view name_of(NonfinitePolicy p) {
    return nonfinite_policy_names[std::size_t(p)];
}
[[nodiscard]] constexpr std::string_view name_of(GpuRequest r) {
    return gpu_request_names[std::size_t(r)];
}
[[nodiscard]] constexpr std::string_view name_of(JobLauncher l) {
    return launcher_names[std::size_t(l)];
}
[[nodiscard]] constexpr std::string_view name_of(ResumeMode m) {
    return resume_mode_names[std::size_t(m)];
}

}  // namespace sluice
