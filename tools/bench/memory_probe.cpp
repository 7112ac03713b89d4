#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/probe_kernels.hpp"
#include "tools/bench/probes.hpp"

namespace sluice::bench {
namespace {

/// Two streams; the second starts and ends with the first one's work.
class Fork {
public:
    Fork() {
        check_cuda(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), "cudaStreamCreate");
        for (cudaEvent_t& event : events_) {
            check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
        }
    }
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    ~Fork() {
        for (const cudaEvent_t event : events_) {
            cudaEventDestroy(event);
        }
        cudaStreamDestroy(second_);
    }

    void run(const Launch& first, const Launch& second, cudaStream_t stream) const {
        check_cuda(cudaEventRecord(events_[0], stream), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(second_, events_[0]), "cudaStreamWaitEvent");
        first(stream);
        second(second_);
        check_cuda(cudaEventRecord(events_[1], second_), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(stream, events_[1]), "cudaStreamWaitEvent");
    }

private:
    cudaStream_t second_ = nullptr;
    std::array<cudaEvent_t, 2> events_{};
};

}  // namespace

void time_beside(cudaStream_t stream) {
    constexpr GemmShape shape{.rows = 135168, .columns = 3072, .depth = 768};  // GPT-2's expansion of 8,448 prompts
    constexpr double flop = 2.0 * shape.rows * shape.columns * shape.depth;
    constexpr std::size_t memory_bytes = std::size_t{4} << 30U;
    int device = 0;
    int multiprocessors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "cudaDeviceGetAttribute");
    const auto all = static_cast<std::uint32_t>(multiprocessors);
    const auto random = [](std::size_t count, float deviation, std::uint32_t seed) {
        return DeviceMemory(std::span<const std::byte>(encode(Precision::bf16, normal(count, deviation, seed))));
    };
    const DeviceMemory a = random(std::size_t{shape.rows} * shape.depth, 1, 1);
    const DeviceMemory b = random(std::size_t{shape.columns} * shape.depth, 0.036F, 2);
    const DeviceMemory out(std::size_t{shape.rows} * shape.columns * number_bytes(Precision::bf16));
    const GemmMemory operands{.a = a.as(), .b = b.as(), .bias = nullptr, .residual = nullptr, .out = out.as()};
    DeviceMemory memory(memory_bytes);
    memory.poison();
    const Fork fork;
    fmt::print("a product of {} x {} x {} beside reads of memory, of {} multiprocessors\n", shape.rows, shape.columns,
               shape.depth, all);
    for (const std::uint32_t readers : {0U, 8U, 12U, 16U, 20U, 24U, 32U}) {
        const Gemm product(shape, Precision::bf16, operands, {.multiprocessors = all - readers});
        const Launch multiply = [&](cudaStream_t s) { product.enqueue(s); };
        if (readers == 0) {
            const std::array<Launch, 1> alone{multiply};
            const double us = time_in_turn(alone, stream)[0].median_us;
            fmt::print("  {:3} for reads: product {:8.1f} us, {:4.0f} TFLOP/s\n", 0, us, flop / us * 1e-6);
            continue;
        }
        // As many bytes as these multiprocessors read in the product's time, so that both end together.
        const std::array<Launch, 2> alone{multiply, [&](cudaStream_t s) {
                                              enqueue_memory_read({memory.as<std::byte>(), memory_bytes}, readers, s);
                                          }};
        const std::vector<Timing> apart = time_in_turn(alone, stream);
        const double share = std::min(1.0, apart[0].median_us / apart[1].median_us);
        const std::size_t bytes = static_cast<std::size_t>(share * memory_bytes) / 16 * 16;
        const Launch read = [&](cudaStream_t s) { enqueue_memory_read({memory.as<std::byte>(), bytes}, readers, s); };
        const std::array<Launch, 3> launches{multiply, read, [&](cudaStream_t s) { fork.run(multiply, read, s); }};
        const std::vector<Timing> times = time_in_turn(launches, stream);
        const double both = times[2].median_us;
        fmt::print(
            "  {:3} for reads: product {:8.1f} us, {:4.0f} TFLOP/s; reads {:8.1f} us, {:5.2f} TB/s; both {:8.1f} "
            "us, {:4.0f} TFLOP/s and {:5.2f} TB/s\n",
            readers, times[0].median_us, flop / times[0].median_us * 1e-6, times[1].median_us,
            static_cast<double>(bytes) / times[1].median_us * 1e-6, both, flop / both * 1e-6,
            static_cast<double>(bytes) / both * 1e-6);
        std::fflush(stdout);
    }
}

}  // namespace sluice::bench
