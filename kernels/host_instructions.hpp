#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// CPU instruction sets, each including those before it. Matrix products group their sums by them, so that they affect
/// the last digits of a host device's results; extensions above AVX-512 core do not change fp32.
enum class HostInstructions : std::uint8_t { sse41, avx, avx2, avx512 };

/// "sse41", "avx", "avx2", "avx512".
[[nodiscard]] std::string_view name_of(HostInstructions instructions);
[[nodiscard]] std::optional<HostInstructions> find_host_instructions(std::string_view name);

/// Its name in DNNL_MAX_CPU_ISA.
[[nodiscard]] std::string_view variable_name_of(HostInstructions instructions);

/// Those of this CPU, limited by ONEDNN_MAX_CPU_ISA or, if that is not set, DNNL_MAX_CPU_ISA.
[[nodiscard]] HostInstructions host_instructions();

/// "2.6.3".
[[nodiscard]] std::string onednn_version();

/// Limits host devices to `most`, at most host_instructions(). Call before the first layer is made; once in a process,
/// or again with the same value.
void limit_host_instructions(HostInstructions most);

}  // namespace sluice
