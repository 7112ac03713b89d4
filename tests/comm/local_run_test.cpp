#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "core/stage_error.hpp"
#include "tests/support/local_job.hpp"
#include "tests/support/streaming_model.hpp"

namespace sluice {
namespace {

using test::FakeSource;
using test::LocalJob;
using test::MemoryWriter;

class AnyCount : public testing::TestWithParam<std::tuple<std::uint64_t, std::uint32_t, Distribution>> {};

TEST_P(AnyCount, ComesOutOnceAndInOrder) {
    const auto [items, chunk_items, distribution] = GetParam();
    for (const std::uint32_t devices : {1U, 2U, 3U, 5U}) {
        for (const std::uint32_t depth : {1U, 2U, 5U}) {
            const FakeSource source(items);
            MemoryWriter writer;
            const LocalJob job{.devices = devices,
                               .distribution = distribution,
                               .driver = {.depth = depth, .chunk_items = chunk_items}};

            const auto traces = run_locally(job, source, writer);

            EXPECT_EQ(writer.results, test::expected_results(items)) << devices << " devices, depth " << depth;
            std::uint64_t traced = 0;
            for (const DeviceTrace& trace : traces) {
                for (const ChunkSpans& spans : trace.chunks()) {
                    traced += spans.chunk.count;
                    EXPECT_LE(spans.upload.end, spans.compute.begin);
                    EXPECT_LE(spans.compute.end, spans.download.begin);
                }
            }
            EXPECT_EQ(traced, items);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, AnyCount,
                         testing::Combine(testing::Values(0, 1, 2, 97, 1009), testing::Values(1, 7, 64),
                                          testing::Values(Distribution::pull, Distribution::fixed)));

TEST(LocalRun, WorksWithTheSmallestWindowAndStage) {
    const FakeSource source(211);
    MemoryWriter writer;

    run_locally({.devices = 3, .staged = 1, .readers = 3, .window = 1, .driver = {.chunk_items = 2}}, source, writer);

    EXPECT_EQ(writer.results, test::expected_results(211));
}

TEST(LocalRun, CompletesChunksThatModelsHoldBackHoweverTheyAreGranted) {
    for (const Distribution distribution : {Distribution::pull, Distribution::fixed}) {
        for (const std::uint32_t devices : {1U, 3U}) {
            for (const std::uint32_t window : {1U, 2U, 16U}) {
                for (const std::uint64_t items : {0U, 1U, 40U, 211U}) {
                    const FakeSource source(items);
                    MemoryWriter writer;
                    LocalJob job{.devices = devices,
                                 .window = window,
                                 .distribution = distribution,
                                 .driver = {.depth = 4, .chunk_items = 3}};
                    job.driver.make_model = []() -> std::unique_ptr<Model> {
                        return std::make_unique<test::StreamingModel>(5, 2);
                    };

                    run_locally(job, source, writer);

                    EXPECT_EQ(writer.results, test::streamed_results(items))
                        << devices << " devices, a window of " << window;
                }
            }
        }
    }
}

TEST(LocalRun, GoesOnFromAnyChunkByTheSameIds) {
    constexpr std::uint64_t items = 97;
    constexpr std::uint32_t chunk_items = 7;
    for (const Distribution distribution : {Distribution::pull, Distribution::fixed}) {
        for (std::uint64_t first_chunk = 0; first_chunk <= ChunkGrid(items, chunk_items).chunks(); ++first_chunk) {
            const FakeSource source(items);
            MemoryWriter writer;

            const auto traces = run_locally({.staged = 3,
                                             .window = 5,
                                             .first_chunk = first_chunk,
                                             .distribution = distribution,
                                             .driver = {.chunk_items = chunk_items}},
                                            source, writer);

            EXPECT_EQ(writer.results, test::expected_results(items, first_chunk * chunk_items));
            for (const DeviceTrace& trace : traces) {
                for (const ChunkSpans& spans : trace.chunks()) {
                    EXPECT_GE(spans.chunk.id, first_chunk);
                    EXPECT_EQ(spans.chunk.first, spans.chunk.id * chunk_items);
                }
            }
        }
    }
}

/// A host device whose streams ring no bell, as CUDA's do.
class SilentDevice final : public Device {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return device_.name(); }
    [[nodiscard]] bool rings() const noexcept override { return false; }
    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
        StreamOptions silent = options;
        silent.bell = nullptr;
        return device_.make_stream(silent);
    }
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override {
        return device_.allocate(space, bytes);
    }

private:
    HostDevice device_;
};

TEST(LocalRun, FinishesOnDevicesThatCannotRing) {
    const FakeSource source(300);
    MemoryWriter writer;
    LocalJob job;
    job.driver.make_device = [](std::uint32_t) -> std::unique_ptr<Device> { return std::make_unique<SilentDevice>(); };

    run_locally(job, source, writer);

    EXPECT_EQ(writer.results, test::expected_results(300));
}

constexpr std::uint64_t chunks_in_all = 20;
std::atomic<std::uint64_t> others_computed{0};

/// The first chunk's compute takes until all others are computed, but one that its device may hold as well.
void compute_first_chunk_last(std::span<const std::byte> item) {
    if (test::index_in(item) != 0) {
        ++others_computed;
        others_computed.notify_all();
        return;
    }
    for (std::uint64_t seen = others_computed; seen < chunks_in_all - 2; seen = others_computed) {
        others_computed.wait(seen);
    }
}

TEST(LocalRun, GivesADeviceOneChunkAheadAtMostWhereOthersFinishAllEarlier) {
    others_computed = 0;
    const FakeSource source(chunks_in_all);
    MemoryWriter writer;

    const auto traces = run_locally(
        {.window = chunks_in_all, .driver = {.chunk_items = 1, .on_chunk = compute_first_chunk_last}}, source, writer);

    EXPECT_EQ(writer.results, test::expected_results(chunks_in_all));
    ASSERT_EQ(traces.size(), 2U);
    EXPECT_LE(std::min(traces[0].chunks().size(), traces[1].chunks().size()), 2U);
}

/// Runs `job` and returns the StageError that it ends with.
StageError failure_of(const LocalJob& job, const FakeSource& source, MemoryWriter& writer) {
    try {
        run_locally(job, source, writer);
    } catch (const StageError& error) {
        return error;
    }
    throw std::logic_error("the run did not fail");
}

TEST(LocalRun, NamesStageAndChunkOfAFailedRead) {
    FakeSource source(100);
    source.on_read = [](std::uint64_t first) {
        if (first == 63) {
            throw std::runtime_error("the file has holes");
        }
    };
    MemoryWriter writer;

    const StageError error = failure_of({}, source, writer);

    EXPECT_EQ(error.stage(), Stage::read);
    EXPECT_EQ(error.chunk(), (Chunk{9, 63, 7}));
}

TEST(LocalRun, NamesStageAndChunkOfAFailedCompute) {
    const FakeSource source(100);
    MemoryWriter writer;
    const auto fail_at_item_63 = [](std::span<const std::byte> item) {
        if (test::index_in(item) == 63) {
            throw std::runtime_error("the model is sick");
        }
    };
    const LocalJob job{.driver = {.on_chunk = fail_at_item_63}};

    const StageError error = failure_of(job, source, writer);

    EXPECT_EQ(error.stage(), Stage::compute);
    EXPECT_EQ(error.chunk(), (Chunk{9, 63, 7}));
    EXPECT_EQ(describe(std::make_exception_ptr(error), "rank 0 on n00").text.where,
              "rank 0 on n00: compute of chunk 9 (items 63 to 69)");
}

TEST(LocalRun, NeverFillsTheBuffersOfADriverThatHasFailed) {
    const auto fail_at_once = [](std::span<const std::byte>) { throw std::runtime_error("the model is sick"); };
    for (int round = 0; round < 50; ++round) {  // for the sanitizers: a request was open when the driver failed
        const FakeSource source(1000);
        MemoryWriter writer;

        const StageError error = failure_of(
            {.devices = 3, .driver = {.depth = 5, .chunk_items = 1, .on_chunk = fail_at_once}}, source, writer);

        EXPECT_EQ(error.stage(), Stage::compute);
    }
}

TEST(LocalRun, NamesStageAndChunkOfAFailedWrite) {
    const FakeSource source(100);
    MemoryWriter writer;
    writer.on_append = [](std::uint64_t first) {
        if (first == 63) {
            throw Error(ExitCode::io_error, {.id = "E-IO-002", .where = "labels.csv", .what = "No space left"});
        }
    };

    const StageError error = failure_of({}, source, writer);

    EXPECT_EQ(error.stage(), Stage::write);
    EXPECT_EQ(error.chunk(), (Chunk{9, 63, 7}));
    EXPECT_EQ(describe(std::make_exception_ptr(error), "").code, ExitCode::io_error);
}

TEST(LocalHub, RecordsAChunkBeforeItsDriverCanDieOfIt) {
    constexpr int quick_looks = 10'000;  // of a driver that is as quick as can be
    const FakeSource source(3000);
    MemoryWriter writer;
    Doorbell bell;
    const StopRequest stop(bell);
    const ChunkGrid grid(source.count(), 1);
    ReadAhead input(source, grid, {.input_bytes = test::fake_input_bytes}, bell);
    OrderedResults results(writer, grid, test::fake_output_bytes, 8, bell);
    ChunkServer server(grid, input, results, {.devices_of_rank = {1}, .depth = 1});
    std::deque<Endpoint> endpoints;
    Endpoint& endpoint = endpoints.emplace_back(1, bell);
    RankEntry entry;
    CommTrace trace(1, grid.chunks());
    LocalHub hub(endpoints, server, entry, trace);
    std::uint64_t unrecorded = 0;
    std::thread driver([&] {
        std::array<std::byte, test::fake_input_bytes> item{};
        const std::array<std::byte, test::fake_output_bytes> output{};
        for (;;) {
            const Ticket ticket = endpoint.request(item);
            for (int looks = 0; looks < quick_looks && !ticket.arrived.ready(); ++looks) {
            }
            ticket.arrived.wait();  // where the comm thread needs this core
            const Chunk chunk = ticket.arrival->chunk;
            if (chunk.end_of_input()) {
                break;
            }
            unrecorded += entry.chunk.load() == chunk.id ? 0 : 1;
            static_cast<void>(endpoint.fetch(ticket));
            endpoint.deliver(chunk, output).wait();
        }
        endpoint.close();
    });

    static_cast<void>(serve(server, hub, nullptr, bell, stop));
    driver.join();

    EXPECT_EQ(unrecorded, 0U);
}

/// How a stopped job ends whose drivers never do.
Served stop_without_drivers(Instant chunks_end, std::chrono::nanoseconds drain_timeout) {
    const FakeSource source(100);
    MemoryWriter writer;
    test::LocalServer job({}, source, writer);
    job.stop.end_chunks_by(chunks_end);
    job.stop.ask(SIGTERM);
    return serve(job.server, job.hub, nullptr, job.bell, job.stop, {.drain_timeout = drain_timeout});
}

TEST(Drain, GivesChunksInFlightASecondWhereTheJobsLimitHasPassed) {
    const Instant began = Clock::now();

    const Served served = stop_without_drivers(began - std::chrono::hours(1), std::chrono::minutes(1));

    EXPECT_GE(Clock::now() - began, std::chrono::seconds(1));
    EXPECT_TRUE(served.gave_up);
    EXPECT_TRUE(served.at_limit);
    EXPECT_EQ(served.stop.signal, SIGTERM);
}

TEST(Drain, DoesNotBlameALimitThatItsTimeoutEndsBefore) {
    const Instant began = Clock::now();

    const Served served = stop_without_drivers(began + std::chrono::hours(1), std::chrono::milliseconds(1));

    EXPECT_TRUE(served.gave_up);
    EXPECT_FALSE(served.at_limit);
}

}  // namespace
}  // namespace sluice
