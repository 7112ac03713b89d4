#include "core/device/gpu_code.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

constexpr ComputeCapability volta{7, 0};
constexpr ComputeCapability turing{7, 5};
constexpr ComputeCapability a100{8, 0};
constexpr ComputeCapability a40{8, 6};
constexpr ComputeCapability l40{8, 9};
constexpr ComputeCapability h100{9, 0};
constexpr ComputeCapability b200{10, 0};
constexpr ComputeCapability b300{10, 3};
constexpr ComputeCapability rtx_pro{12, 0};

MatrixInstructions choose(ComputeCapability capability, std::string_view architectures) {
    return choose_matrix_instructions(capability, architectures, "GPU 0");
}

ErrorText refusal(ComputeCapability capability, std::string_view architectures) {
    const Error error = test::error_of([&] { return choose(capability, architectures); });
    EXPECT_EQ(error.code(), ExitCode::unavailable)
        << capability.major << "." << capability.minor << " " << architectures;
    return error.text();
}

TEST(GpuCode, MultipliesByWgmmaOnHopperAloneWhereTheBuildHasIt) {
    for (const char* const architectures : {"90a", "80,89,90a", "90a,80", "90,90a", "90a-real", "90a-virtual"}) {
        EXPECT_EQ(choose(h100, architectures), MatrixInstructions::wgmma) << architectures;
    }
    for (const ComputeCapability other : {a100, a40, l40, b200, rtx_pro}) {
        EXPECT_EQ(choose(other, "80,89,90a"), MatrixInstructions::mma) << other.major << "." << other.minor;
    }
}

TEST(GpuCode, MultipliesByMmaOnHopperWithoutIt) {
    for (const char* const architectures : {"90", "80", "80,89", "90-real", "89-virtual", "100,90"}) {
        EXPECT_EQ(choose(h100, architectures), MatrixInstructions::mma) << architectures;
    }
}

TEST(GpuCode, RunsMachineCodeOnLaterGpusOfItsGenerationAlone) {
    EXPECT_EQ(choose(a40, "80-real"), MatrixInstructions::mma);
    EXPECT_EQ(choose(l40, "86-real"), MatrixInstructions::mma);
    static_cast<void>(refusal(a100, "86-real"));
    static_cast<void>(refusal(h100, "80-real,89-real"));
}

TEST(GpuCode, RunsPtxOnEveryLaterGpu) {
    EXPECT_EQ(choose(b200, "80"), MatrixInstructions::mma);
    EXPECT_EQ(choose(rtx_pro, "90-virtual"), MatrixInstructions::mma);
    static_cast<void>(refusal(a100, "86"));
    static_cast<void>(refusal(l40, "90"));
}

TEST(GpuCode, KeepsArchitectureSpecificCodeToItsGpu) {
    static_cast<void>(refusal(b200, "90a"));
    static_cast<void>(refusal(b300, "100a"));
    EXPECT_EQ(choose(b200, "100a"), MatrixInstructions::mma);
    EXPECT_EQ(choose(b300, "100f"), MatrixInstructions::mma);
    static_cast<void>(refusal(rtx_pro, "100f"));
    static_cast<void>(refusal(b200, "103f"));
}

TEST(GpuCode, NamesTheArchitectureOfAGpuThatTheBuildHasNoCodeFor) {
    const ErrorText text = refusal(a100, "90a");

    EXPECT_EQ(text.id, "E-GPU-063");
    EXPECT_EQ(text.where, "GPU 0");
    EXPECT_EQ(text.what, "is a GPU of architecture sm_80, and this build has code for 90a only");
    EXPECT_EQ(text.hint, "build with 80 in CMAKE_CUDA_ARCHITECTURES, or set run.device = \"host\"");
    EXPECT_EQ(refusal(h100, "86-real").hint,
              "build with 90a in CMAKE_CUDA_ARCHITECTURES, or set run.device = \"host\"");
}

TEST(GpuCode, RefusesGpusBeforeAmpereWhateverTheBuildHas) {
    for (const ComputeCapability old : {volta, turing}) {
        const ErrorText text = refusal(old, "80,89,90a");

        EXPECT_EQ(text.id, "E-GPU-063");
        EXPECT_EQ(text.what, "is a GPU of architecture sm_7" + std::to_string(old.minor) +
                                 ", expected sm_80 or later (this build: 80,89,90a)");
        EXPECT_EQ(text.hint, "use an NVIDIA GPU of the Ampere generation or later, or set run.device = \"host\"");
    }
}

TEST(GpuCode, IsNoneInABuildForNothing) {
    static_cast<void>(refusal(h100, ""));
}

}  // namespace
}  // namespace sluice
