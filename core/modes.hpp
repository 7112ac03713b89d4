#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// The words of an enumeration in job files and reports, in the order of its enumerators.
template <class Enum>
inline constexpr std::array<std::string_view, 0> words_of{};

/// The word of an enumerator that has one.
template <class Enum>
requires(!words_of<Enum>.empty()) [[nodiscard]] constexpr std::string_view name_of(Enum value) {
    return words_of<Enum>[std::size_t(value)];
}

/// The enumerator whose word is `name`; nullopt if there is none.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_of(std::string_view name) {
    for (std::size_t i = 0; i < words_of<Enum>.size(); ++i) {
        if (words_of<Enum>[i] == name) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

// Run-time choices of a job that layers other than the configuration need.

enum class DeviceKind { automatic, host, cuda };
template <>
inline constexpr std::array<std::string_view, 3> words_of<DeviceKind>{"auto", "host", "cuda"};

/// How a device computes products and stores activations. Accumulators are fp32 in all precisions. Hosts have
/// fp32 and, with AMX, bf16 for products alone: the rest stays in fp32.
enum class Precision : std::uint8_t {
    fp32,    ///< IEEE single throughout.
    tf32x3,  ///< Each product as three of tf32 or fp16 (depends on the app), nearly as accurate as fp32; the rest in
             ///< fp32.
    tf32,    ///< fp32 rounded to 10 bits of mantissa, on the tensor cores.
    bf16,
    fp16,       ///< Values up to 65,504; eight times as accurate as bf16.
    certified,  ///< fp16; uncertain items again in tf32x3, and those still uncertain in fp32.
    fp8,        ///< Factors of most products in e4m3, four bits of significance; the rest as in bf16.
    fp16x2,     ///< Products in fp16, corrected by what that leaves of both factors, in e4m3; the rest in fp32.
};
template <>
inline constexpr std::array<std::string_view, 8> words_of<Precision>{"fp32", "tf32x3",    "tf32", "bf16",
                                                                     "fp16", "certified", "fp8",  "fp16x2"};

/// When a text is indexed.
enum class IndexTime : std::uint8_t {
    automatic,  ///< Of a large file whose run begins, `beside`.
    first,      ///< Before anything is computed.
    beside,     ///< While its first items are computed.
};
template <>
inline constexpr std::array<std::string_view, 3> words_of<IndexTime>{"auto", "first", "beside"};

enum class PipelineMode { overlap, serial };
template <>
inline constexpr std::array<std::string_view, 2> words_of<PipelineMode>{"overlap", "serial"};

enum class Distribution { pull, fixed };  ///< `fixed` is "static" in the job file.
template <>
inline constexpr std::array<std::string_view, 2> words_of<Distribution>{"pull", "static"};

/// How items reach the other ranks of rank 0's node.
enum class Scatter : std::uint8_t {
    memory,    ///< They copy them from the memory where rank 0 reads them.
    messages,  ///< By MPI, as to ranks of other nodes.
};
template <>
inline constexpr std::array<std::string_view, 2> words_of<Scatter>{"memory", "messages"};

/// Where a rank's threads run.
enum class BindMode : std::uint8_t {
    gpu_local,  ///< On the CPUs assigned by place(), within the launcher's mask.
    inherit,    ///< On all CPUs of the launcher's mask.
    none,       ///< On all CPUs that the cgroup allows, ignoring the launcher's mask.
};
template <>
inline constexpr std::array<std::string_view, 3> words_of<BindMode>{"gpu-local", "inherit", "none"};

}  // namespace sluice
