#include "kernels/host_instructions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace sluice {
namespace {

constexpr std::array all{HostInstructions::sse41, HostInstructions::avx, HostInstructions::avx2,
                         HostInstructions::avx512, HostInstructions::amx};

TEST(HostInstructions, HaveNames) {
    for (const HostInstructions instructions : all) {
        EXPECT_EQ(find_host_instructions(name_of(instructions)), instructions);
    }
    EXPECT_EQ(name_of(HostInstructions::avx512), "avx512");
    EXPECT_EQ(variable_name_of(HostInstructions::avx512), "AVX512_CORE");
    EXPECT_EQ(variable_name_of(HostInstructions::amx), "AVX512_CORE_AMX");
    EXPECT_EQ(find_host_instructions("avx1024"), std::nullopt);
}

TEST(HostInstructions, AreAtMostWhatTheVariableAllows) {
    ASSERT_EQ(std::getenv("DNNL_MAX_CPU_ISA"), nullptr);
    const HostInstructions cpu = host_instructions();
    for (const auto& [value, most] :
         {std::pair("SSE41", HostInstructions::sse41), std::pair("avx", HostInstructions::avx),
          std::pair("AVX2_VNNI", HostInstructions::avx2), std::pair("AVX512_CORE_BF16", HostInstructions::avx512),
          std::pair("AVX512_CORE_AMX", HostInstructions::amx), std::pair("unknown", HostInstructions::amx)}) {
        ::setenv("DNNL_MAX_CPU_ISA", value, 1);
        EXPECT_EQ(host_instructions(), std::min(cpu, most)) << value;
    }
    ::setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
    EXPECT_EQ(host_instructions(), HostInstructions::sse41);
    ::unsetenv("ONEDNN_MAX_CPU_ISA");
    ::unsetenv("DNNL_MAX_CPU_ISA");
}

TEST(HostInstructions, AreUsedAsFarAsAPrecisionDependsOnThem) {
    for (const HostInstructions instructions : all) {
        EXPECT_EQ(instructions_used(instructions, Precision::fp32), std::min(instructions, HostInstructions::avx512));
        EXPECT_EQ(instructions_used(instructions, Precision::bf16), instructions);
    }
}

}  // namespace
}  // namespace sluice
