// How well stages overlap: copies of 2 ms each way and compute of 4 ms, simulated by streams that sleep. The limit is
// 4 ms a chunk; one chunk at a time takes 8 ms.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "scheduler/pipeline.hpp"
#include "tools/bench/bench_transport.hpp"
#include "tools/bench/simulated_device.hpp"

namespace sluice::bench {
namespace {

constexpr std::chrono::milliseconds copy_time{2};
constexpr std::chrono::milliseconds compute_time{4};
constexpr std::uint64_t chunks_per_run = 200;

void overlap(benchmark::State& state) {
    const auto depth = static_cast<std::uint32_t>(state.range(0));
    SimulatedDevice device(copy_time);
    SimulatedModel model(compute_time);
    Seconds wall{0};
    for (auto _ : state) {
        const Instant begin = Clock::now();
        InstantTransport transport(chunks_per_run, depth);
        DeviceTrace trace("simulated", chunks_per_run);
        Pipeline(device, transport, model, {.depth = depth, .chunk_items = 1}, trace).run();
        wall += Clock::now() - begin;
    }
    // Includes the first chunk's upload and the last one's download, which cannot overlap.
    const double chunks = static_cast<double>(state.iterations()) * static_cast<double>(chunks_per_run);
    state.counters["ms_per_chunk"] = 1e3 * wall.count() / chunks;
}

BENCHMARK(overlap)->ArgName("depth")->Arg(1)->Arg(2)->Arg(3)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::bench

BENCHMARK_MAIN();
