#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Instruction sets of a CPU, each of which includes those before it. A matrix product groups its sums by them, so that
/// they decide the last digits of what a host device computes; nothing above AVX-512's core changes fp32.
enum class HostInstructions : std::uint8_t { sse41, avx, avx2, avx512 };

/// "sse41", "avx", "avx2", "avx512".
[[nodiscard]] std::string_view name_of(HostInstructions instructions);
[[nodiscard]] std::optional<HostInstructions> find_host_instructions(std::string_view name);

/// What DNNL_MAX_CPU_ISA calls it.
[[nodiscard]] std::string_view variable_name_of(HostInstructions instructions);

/// Those of this CPU, and no more than DNNL_MAX_CPU_ISA or ONEDNN_MAX_CPU_ISA allows.
[[nodiscard]] HostInstructions host_instructions();

/// "2.6.3".
[[nodiscard]] std::string onednn_version();

/// From now on host devices compute with these, which are among host_instructions(). Called before the first layer is
/// made; once in a process, or with the same again.
void limit_host_instructions(HostInstructions most);

}  // namespace sluice
