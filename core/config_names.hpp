#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/config.hpp"

namespace sluice {

/// The words of the job file, in the order of the enumerators.
inline constexpr std::array<std::string_view, 6> input_format_names{"csv", "jsonl", "txt", "npy", "bin", "u8"};
inline constexpr std::array<std::string_view, 3> output_format_names{"csv", "jsonl", "npy"};
inline constexpr std::array<std::string_view, 3> nonfinite_policy_names{"error", "flag", "allow"};
inline constexpr std::array<std::string_view, 3> device_kind_names{"auto", "host", "cuda"};
inline constexpr std::array<std::string_view, 6> precision_names{"fp32", "tf32x3", "tf32", "bf16", "fp16", "certified"};
inline constexpr std::array<std::string_view, 2> pipeline_mode_names{"overlap", "serial"};
inline constexpr std::array<std::string_view, 2> distribution_names{"pull", "static"};
inline constexpr std::array<std::string_view, 3> bind_mode_names{"gpu-local", "inherit", "none"};
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
[[nodiscard]] constexpr std::string_view name_of(DeviceKind k) {
    return device_kind_names[std::size_t(k)];
}
[[nodiscard]] constexpr std::string_view name_of(Precision p) {
    return precision_names[std::size_t(p)];
}
[[nodiscard]] constexpr std::string_view name_of(PipelineMode m) {
    return pipeline_mode_names[std::size_t(m)];
}
[[nodiscard]] constexpr std::string_view name_of(Distribution d) {
    return distribution_names[std::size_t(d)];
}
[[nodiscard]] constexpr std::string_view name_of(BindMode m) {
    return bind_mode_names[std::size_t(m)];
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

/// The enumerator of `name`, which is one of `names`, the array above that belongs to Enum.
template <class Enum, std::size_t count>
[[nodiscard]] constexpr std::optional<Enum> enum_of(std::string_view name,
                                                    const std::array<std::string_view, count>& names) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

}  // namespace sluice
