#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/ladder/ladder.hpp"
#include "tools/bench/ladder/windows.hpp"
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

std::string or_dash(std::optional<double> value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// What a window saw, of calls that compute and read so much.
void print_line(std::string_view name, const ladder::Window& window, double flop, double bytes) {
    const double seconds = window.seconds_per_call;
    const auto rate = [&](double amount, int digits) {
        return amount > 0 ? fmt::format("{:.{}f}", amount / seconds / ladder::tera, digits) : "-";
    };
    const std::optional<double> watts =
        window.joules_per_call ? std::optional(*window.joules_per_call / seconds) : std::nullopt;
    fmt::print("    {:8} {:8.1f} us  {:>5} TFLOP/s  {:>5} TB/s  {:>5} MHz  {:>4} W  {:>6} J a call\n", name,
               seconds * 1e6, rate(flop, 0), rate(bytes, 2), or_dash(window.clock_mhz, 0), or_dash(watts, 0),
               or_dash(window.joules_per_call, 3));
    std::fflush(stdout);
}

}  // namespace

void time_beside(cudaStream_t stream) {
    constexpr GemmShape shape{.rows = 135168, .columns = 3072, .depth = 768};  // GPT-2's expansion of 8,448 prompts
    constexpr double flop = 2.0 * shape.rows * shape.columns * shape.depth;
    constexpr std::size_t memory_bytes = std::size_t{4} << 30U;
    constexpr double seconds = 0.5;  // of a window: shorter ones show the steps of the energy counter
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
    ladder::Windows windows(1, stream);
    fmt::print("a product of {} x {} x {} beside reads of memory, of {} multiprocessors\n", shape.rows, shape.columns,
               shape.depth, all);
    for (const std::uint32_t readers : {0U, 8U, 12U, 16U, 20U, 24U, 32U}) {
        const Gemm product(shape, Precision::bf16, operands, {.multiprocessors = all - readers});
        const Launch multiply = [&](cudaStream_t s) { product.enqueue(s); };
        const auto enqueuing = [](const Launch& launch) {
            return [&launch](std::size_t, cudaStream_t s) { launch(s); };
        };
        fmt::print("  {} for reads\n", readers);
        if (readers == 0) {
            print_line("product", windows.in_turn({enqueuing(multiply)}, seconds)[0], flop, 0);
            continue;
        }
        // As many bytes as these multiprocessors read in the product's time, so that both end together.
        const std::array<Launch, 2> alone{multiply, [&](cudaStream_t s) {
                                              enqueue_memory_read({memory.as<std::byte>(), memory_bytes}, readers, s);
                                          }};
        const std::vector<Timing> apart = time_in_turn(alone, stream);
        const double share = std::min(1.0, apart[0].median_us / apart[1].median_us);
        const std::size_t bytes = static_cast<std::size_t>(share * memory_bytes) / 16 * 16;
        const auto read_bytes = static_cast<double>(bytes);
        const Launch read = [&](cudaStream_t s) { enqueue_memory_read({memory.as<std::byte>(), bytes}, readers, s); };
        const Launch both = [&](cudaStream_t s) { fork.run(multiply, read, s); };
        const std::vector<ladder::Window> seen =
            windows.in_turn({enqueuing(multiply), enqueuing(read), enqueuing(both)}, seconds);
        print_line("product", seen[0], flop, 0);
        print_line("reads", seen[1], 0, read_bytes);
        print_line("both", seen[2], flop, read_bytes);
    }
}

}  // namespace sluice::bench
