#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// Run-time choices of a job that layers other than the configuration need. Each array holds the job file's words in the
// order of the enumerators.

enum class DeviceKind { automatic, host, cuda };
inline constexpr std::array<std::string_view, 3> device_kind_names{"auto", "host", "cuda"};

/// How a device computes products and stores activations. Accumulators are fp32 in all precisions; hosts support fp32
/// only.
enum class Precision : std::uint8_t {
    fp32,    ///< IEEE single throughout.
    tf32x3,  ///< Each product as three of tf32 or fp16 (depends on the app), nearly as accurate as fp32; the rest in
             ///< fp32.
    tf32,    ///< fp32 rounded to 10 bits of mantissa, on the tensor cores.
    bf16,
    fp16,       ///< Values up to 65,504; eight times as accurate as bf16.
    certified,  ///< fp16; uncertain items again in tf32x3, and those still uncertain in fp32.
};
inline constexpr std::array<std::string_view, 6> precision_names{"fp32", "tf32x3", "tf32", "bf16", "fp16", "certified"};

enum class PipelineMode { overlap, serial };
inline constexpr std::array<std::string_view, 2> pipeline_mode_names{"overlap", "serial"};

enum class Distribution { pull, fixed };  ///< `fixed` is "static" in the job file.
inline constexpr std::array<std::string_view, 2> distribution_names{"pull", "static"};

/// Where a rank's threads run.
enum class BindMode : std::uint8_t {
    gpu_local,  ///< On the CPUs assigned by place(), within the launcher's mask.
    inherit,    ///< On all CPUs of the launcher's mask.
    none,       ///< On all CPUs that the cgroup allows, ignoring the launcher's mask.
};
inline constexpr std::array<std::string_view, 3> bind_mode_names{"gpu-local", "inherit", "none"};

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

/// Enumerator whose word in `names` (the array above for Enum) is `name`; nullopt if there is none.
template <class Enum, std::size_t count>
[[nodiscard]] constexpr std::optional<Enum> enum_of(std::string_view name,
                                                    const std::array<std::string_view, count>& names) {
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == name) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace sluice
