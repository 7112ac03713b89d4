#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {
namespace {

constexpr std::size_t weight_count = std::size_t{1} << 29U;  // 2 GiB
constexpr std::size_t address_space = std::size_t{3} << 30U;

/// Zeros that take no memory until they are read.
std::span<const float> zeros() {
    void* const pages =
        mmap(nullptr, weight_count * sizeof(float), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expects(pages != MAP_FAILED, "address space for 2 GiB");
    return {static_cast<const float*>(pages), weight_count};
}

/// Ends with 0 if packing the weights throws std::bad_alloc.
[[noreturn]] void pack_without_memory() {
    const std::span<const float> weights = zeros();
    const rlimit limit{address_space, address_space};
    setrlimit(RLIMIT_AS, &limit);
    const std::vector<float> bias(1U << 15U);
    try {
        PackedWeights packed;
        static_cast<void>(host_kernels(Precision::fp32)
                              .dense.linear({.inputs = 1U << 14U, .outputs = 1U << 15U}, weights, bias, packed));
        packed.pack(NodeMemory::of_process(packed.bytes()), {}, 1);
        std::_Exit(1);
    } catch (const std::bad_alloc&) {
        std::_Exit(0);
    } catch (...) {
        std::_Exit(2);
    }
}

TEST(HostKernelsDeathTest, SayThatMemoryRanOutWhenOneDnnDoes) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");

    EXPECT_EXIT(pack_without_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
