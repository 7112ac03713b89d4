#include "kernels/host_instructions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <dnnl.hpp>
#include <string>

#include "core/error.hpp"
#include "kernels/host/tile_product.hpp"

namespace sluice {
namespace {

struct Known {
    HostInstructions instructions;
    std::string_view name;
    std::string_view variable;
    dnnl::cpu_isa isa;
};

constexpr std::array<Known, 5> all_known{{
    {HostInstructions::sse41, "sse41", "SSE41", dnnl::cpu_isa::sse41},
    {HostInstructions::avx, "avx", "AVX", dnnl::cpu_isa::avx},
    {HostInstructions::avx2, "avx2", "AVX2", dnnl::cpu_isa::avx2},
    {HostInstructions::avx512, "avx512", "AVX512_CORE", dnnl::cpu_isa::avx512_core},
    {HostInstructions::amx, "amx", "AVX512_CORE_AMX", dnnl::cpu_isa::avx512_core},  // oneDNN multiplies in fp32 alone
}};

const Known& known(HostInstructions instructions) {
    return all_known[static_cast<std::size_t>(instructions)];
}

/// oneDNN's own query would make its limit final.
HostInstructions of_this_cpu() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        return has_tiles() ? HostInstructions::amx : HostInstructions::avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return HostInstructions::avx2;
    }
    return __builtin_cpu_supports("avx") ? HostInstructions::avx : HostInstructions::sse41;
}

/// As oneDNN reads it: an unknown value allows all.
HostInstructions allowed_by_variable() {
    const char* const value = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr ? std::getenv("ONEDNN_MAX_CPU_ISA")
                                                                           : std::getenv("DNNL_MAX_CPU_ISA");
    std::string name(value == nullptr ? "" : value);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
    if (name == "AVX2_VNNI") {
        return HostInstructions::avx2;
    }
    if (name == "AVX512_CORE_VNNI" || name == "AVX512_CORE_BF16" || name == "AVX512_CORE_FP16") {
        return HostInstructions::avx512;
    }
    const auto* const found = std::ranges::find(all_known, name, &Known::variable);
    return found == all_known.end() ? HostInstructions::amx : found->instructions;
}

}  // namespace

std::string_view name_of(HostInstructions instructions) {
    return known(instructions).name;
}

std::string_view variable_name_of(HostInstructions instructions) {
    return known(instructions).variable;
}

std::optional<HostInstructions> find_host_instructions(std::string_view name) {
    const auto* const found = std::ranges::find(all_known, name, &Known::name);
    return found == all_known.end() ? std::nullopt : std::optional(found->instructions);
}

HostInstructions host_instructions() {
    return std::min(of_this_cpu(), allowed_by_variable());
}

std::string onednn_version() {
    const dnnl_version_t& version = *dnnl_version();
    return std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' + std::to_string(version.patch);
}

HostInstructions instructions_used(HostInstructions of_host, Precision precision) {
    return precision == Precision::bf16 ? of_host : std::min(of_host, HostInstructions::avx512);
}

void limit_host_instructions(HostInstructions most) {
    expects(most <= host_instructions(), "host devices are limited to what this CPU has");
    static_cast<void>(dnnl::set_max_cpu_isa(known(most).isa));  // refused if too late, which the next line detects
    expects(dnnl::get_effective_cpu_isa() == known(most).isa, "host devices are limited before the first layer");
    if (most == HostInstructions::amx) {
        enable_tiles();
    }
}

}  // namespace sluice
