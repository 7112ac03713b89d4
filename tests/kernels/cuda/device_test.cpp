#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class Gpu : public OnGpu {};

TEST_F(Gpu, HasAsMuchSharedMemoryAsEveryKernelNeeds) {
    EXPECT_GE(gpu().block_shared_bytes(), 99U * 1024U);
}

TEST_F(Gpu, IsUsedAsALesserOneWhereThatIsAskedFor) {
    const auto lesser = make_cuda_device(0, {.instructions = MatrixInstructions::mma, .block_shared_bytes = 99 * 1024});

    EXPECT_EQ(as_cuda(*lesser).instructions(), MatrixInstructions::mma);
    EXPECT_EQ(as_cuda(*lesser).block_shared_bytes(), 99U * 1024U);
}

TEST_F(Gpu, IsNotUsedAsMoreThanItIs) {
    const std::uint32_t beyond = gpu().block_shared_bytes() + 1;

    EXPECT_THROW(static_cast<void>(make_cuda_device(0, {.block_shared_bytes = beyond})), ContractViolation);
    if (gpu().instructions() == MatrixInstructions::mma) {
        EXPECT_THROW(static_cast<void>(make_cuda_device(0, {.instructions = MatrixInstructions::wgmma})),
                     ContractViolation);
    }
}

}  // namespace
}  // namespace sluice
