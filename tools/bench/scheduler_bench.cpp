// The scheduler's own cost: a driver's CPU time a chunk when no stage has anything to do.
//
// `host_device`: three real streams, that is three worker threads besides the driver. `inline_device`: streams whose
// operations are over when they are enqueued, so that nothing is left but the pipeline's own bookkeeping.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>

#include "core/device/host_device.hpp"
#include "core/model.hpp"
#include "scheduler/pipeline.hpp"
#include "tools/bench/bench_transport.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t chunks_per_run = 50'000;

class EmptyModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {0, 0}; }
    void forward(Stream&, std::size_t, std::span<const std::byte>, std::span<std::byte>) override {}
};

class InlineStream final : public Stream {
public:
    explicit InlineStream(const StreamOptions& options) : completions_(options.records) {}
    void copy(std::span<std::byte>, std::span<const std::byte>) override {}
    void wait(const Event&) override {}
    void loop(const std::uint32_t*, std::uint32_t, FunctionRef<void()>) override {}
    [[nodiscard]] Event record() override {
        completions_.complete();
        return {completions_, ++recorded_};
    }
    [[nodiscard]] Event mark() override { return record(); }

private:
    CompletionCounter completions_;
    std::uint64_t recorded_ = 0;
};

class InlineDevice final : public Device {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "inline"; }
    [[nodiscard]] bool rings() const noexcept override { return false; }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
        return std::make_unique<InlineStream>(options);
    }
    [[nodiscard]] Buffer allocate(MemorySpace, std::size_t) override { return {}; }
};

double thread_cpu_seconds() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class DeviceType>
void empty_stages(benchmark::State& state) {
    const auto depth = static_cast<std::uint32_t>(state.range(0));
    DeviceType device;
    EmptyModel model;
    double driver = 0;
    Seconds wall{0};
    for (auto _ : state) {
        state.PauseTiming();
        InstantTransport transport(chunks_per_run, depth);
        DeviceTrace trace("bench", chunks_per_run);
        std::optional<Pipeline> pipeline(std::in_place, device, transport, model,
                                         PipelineOptions{.depth = depth, .chunk_items = 1}, trace);
        state.ResumeTiming();
        const Instant start = Clock::now();
        const double begin = thread_cpu_seconds();
        pipeline->run();
        driver += thread_cpu_seconds() - begin;
        wall += Clock::now() - start;
        state.PauseTiming();
        pipeline.reset();
        state.ResumeTiming();
    }
    const double chunks = static_cast<double>(state.iterations()) * static_cast<double>(chunks_per_run);
    state.counters["driver_us_per_chunk"] = 1e6 * driver / chunks;
    state.counters["wall_us_per_chunk"] = 1e6 * wall.count() / chunks;
}

BENCHMARK_TEMPLATE(empty_stages, InlineDevice)->Name("empty_stages/inline_device")->Arg(3)->Arg(8)->UseRealTime();
BENCHMARK_TEMPLATE(empty_stages, HostDevice)->Name("empty_stages/host_device")->Arg(3)->Arg(8)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace sluice::bench

BENCHMARK_MAIN();
