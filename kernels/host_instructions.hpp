#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/modes.hpp"

namespace sluice {

/// CPU instruction sets, each including those before it. Matrix products group their sums by them, so that they affect
/// the last digits of a host device's results; extensions above AVX-512 core do not change fp32. AMX, with its bf16, is
/// for that alone.
enum class HostInstructions : std::uint8_t { sse41, avx, avx2, avx512, amx };

/// "sse41", "avx", "avx2", "avx512", "amx".
[[nodiscard]] std::string_view name_of(HostInstructions instructions);
[[nodiscard]] std::optional<HostInstructions> find_host_instructions(std::string_view name);

/// Its name in DNNL_MAX_CPU_ISA.
[[nodiscard]] std::string_view variable_name_of(HostInstructions instructions);

/// Those of this CPU, limited by ONEDNN_MAX_CPU_ISA or, if that is not set, DNNL_MAX_CPU_ISA.
[[nodiscard]] HostInstructions host_instructions();

/// "2.6.3".
[[nodiscard]] std::string onednn_version();

/// Of `of_host`, those that affect results in `precision`.
[[nodiscard]] HostInstructions instructions_used(HostInstructions of_host, Precision precision);

/// Limits host devices to `most`, at most host_instructions(), and with amx asks the kernel for its use. Call before
/// the first layer is made; once in a process, or again with the same value. Throws Error (unavailable, E-HWL-147)
/// where the kernel refuses.
void limit_host_instructions(HostInstructions most);

}  // namespace sluice
