#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/probe_kernels.hpp"
#include "tools/bench/probes.hpp"

namespace sluice::bench {

void time_loop(CudaDevice& gpu, CudaStream& stream) {
    constexpr std::uint32_t rounds = 256;
    const Buffer memory = gpu.allocate(MemorySpace::device, sizeof(Countdown));
    auto* const countdown = memory.as<Countdown>().data();
    fmt::print("kernels that do nothing, on 132 blocks, {} rounds of each number\n", rounds);
    for (const std::uint32_t kernels : {1U, 2U, 4U, 8U, 16U, 64U}) {
        for (const bool chained : {false, true}) {
            const auto body = [&] {
                for (std::uint32_t i = 0; i < kernels; ++i) {
                    enqueue_nothing(132, chained, stream.handle());
                }
            };
            std::unique_ptr<CapturedWork> looped;
            std::unique_ptr<CapturedWork> straight;
            const auto round = [&] {
                body();
                enqueue_count_down(countdown, stream.handle());
            };
            const auto loop = [&] {
                enqueue_begin_countdown(countdown, rounds, stream.handle());
                stream.loop(&countdown->more, rounds, round);
            };
            const auto line = [&] {
                enqueue_begin_countdown(countdown, rounds, stream.handle());
                for (std::uint32_t i = 0; i < rounds; ++i) {
                    round();
                }
            };
            const std::array<Launch, 2> launches{[&](cudaStream_t) { stream.launch(looped, loop); },
                                                 [&](cudaStream_t) { stream.launch(straight, line); }};
            const std::vector<Timing> times = time_in_turn(launches, stream.handle());
            fmt::print(
                "  {:2} kernels and the count, {:9}: a round of the loop {:6.2f} us, of the same graph without a "
                "loop {:6.2f} us\n",
                kernels, chained ? "chained" : "one by one", times[0].median_us / rounds, times[1].median_us / rounds);
        }
    }
}

}  // namespace sluice::bench
