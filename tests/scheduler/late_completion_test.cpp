#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/device/host_device.hpp"
#include "core/stage_error.hpp"
#include "scheduler/pipeline.hpp"
#include "tests/support/recording_transport.hpp"
#include "tests/support/streaming_model.hpp"

namespace sluice {
namespace {

using test::RecordingDevice;
using test::RecordingTransport;
using test::Script;
using test::StreamingModel;

/// A transport in the driver's own thread, which has a chunk for the driver only while fewer than `window` are out:
/// so does a server whose window for results is full.
class WindowTransport final : public Transport {
public:
    WindowTransport(const ChunkGrid& grid, std::uint32_t depth, std::uint64_t window)
        : grid_(grid),
          window_(window),
          arrivals_(depth),
          requests_(2 * std::size_t{depth}, &bell_),
          deliveries_(2 * std::size_t{depth}, &bell_) {}

    [[nodiscard]] Ticket request(std::span<std::byte> to) override {
        targets_.push_back(to);
        const std::size_t slot = (targets_.size() - 1) % arrivals_.size();
        answer();
        return {.arrived = Event(requests_, targets_.size()), .arrival = &arrivals_[slot]};
    }

    [[nodiscard]] Event deliver(const Chunk& chunk, std::span<const std::byte> from) override {
        EXPECT_EQ(chunk, grid_.at(delivered_));
        for (std::size_t at = 0; at < from.size(); at += test::fake_output_bytes) {
            std::memcpy(&results.emplace_back(), from.data() + at, sizeof(std::uint64_t));
        }
        ++delivered_;
        deliveries_.complete();
        answer();
        return {deliveries_, delivered_};
    }

    [[nodiscard]] Doorbell& bell() noexcept override { return bell_; }

    std::vector<std::uint64_t> results;

private:
    void answer() {
        while (answered_ < targets_.size() && (answered_ >= grid_.chunks() || answered_ < delivered_ + window_)) {
            const Chunk chunk = answered_ < grid_.chunks() ? grid_.at(answered_) : grid_.end();
            for (std::uint32_t i = 0; i < chunk.count; ++i) {
                test::fake_item(chunk.first + i, targets_[answered_].subspan(std::size_t{i} * test::fake_input_bytes,
                                                                             test::fake_input_bytes));
            }
            arrivals_[answered_ % arrivals_.size()] = {chunk, Clock::now()};
            ++answered_;
            requests_.complete();
        }
    }

    ChunkGrid grid_;
    std::uint64_t window_;
    Doorbell bell_;
    std::vector<Arrival> arrivals_;
    CompletionCounter requests_;
    CompletionCounter deliveries_;
    std::vector<std::span<std::byte>> targets_;
    std::uint64_t answered_ = 0;
    std::uint64_t delivered_ = 0;
};

struct Streaming {
    std::uint64_t items = 20;
    std::uint32_t chunk_items = 3;
    std::size_t rows = 4;
    std::uint32_t lag = 2;
    std::uint32_t depth = 3;
    std::uint64_t window = UINT32_MAX;
    StreamingModel::OnItem on_item = nullptr;
};

std::string text_of(const Streaming& job) {
    return fmt::format("{} items, chunks of {}, {} rows, lag {}, depth {}, window {}", job.items, job.chunk_items,
                       job.rows, job.lag, job.depth, job.window);
}

/// On a host device, with its streams' threads.
struct HostWorld {
    explicit HostWorld(const Streaming& job)
        : grid(job.items, job.chunk_items),
          transport(grid, job.depth, job.window),
          model(job.rows, job.lag, job.on_item),
          trace("host", grid.chunks()),
          pipeline(std::in_place, device, transport, model,
                   PipelineOptions{.depth = job.depth, .chunk_items = job.chunk_items}, trace) {}

    ChunkGrid grid;
    HostDevice device;
    WindowTransport transport;
    StreamingModel model;
    DeviceTrace trace;
    std::optional<Pipeline> pipeline;
};

class EveryCount : public testing::TestWithParam<Streaming> {};

TEST_P(EveryCount, ComesOutAsIfEachItemWereAlone) {
    for (std::uint64_t items = 0; items <= 40; ++items) {
        Streaming job = GetParam();
        job.items = items;
        SCOPED_TRACE(text_of(job));
        HostWorld world(job);

        world.pipeline->run();

        EXPECT_EQ(world.transport.results, test::streamed_results(items));
        ASSERT_EQ(world.trace.chunks().size(), world.grid.chunks());
        for (const ChunkSpans& spans : world.trace.chunks()) {
            EXPECT_LE(spans.upload.end, spans.compute.begin);
            EXPECT_LE(spans.compute.begin, spans.compute.end);
            EXPECT_LE(spans.compute.end, spans.download.begin);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Runs, EveryCount,
                         testing::Values(Streaming{.chunk_items = 1, .rows = 4, .lag = 1, .depth = 2},
                                         Streaming{.chunk_items = 1, .rows = 1, .lag = 2, .depth = 5},
                                         Streaming{.chunk_items = 3, .rows = 4, .lag = 1, .depth = 4},
                                         Streaming{.chunk_items = 3, .rows = 16, .lag = 3, .depth = 4},
                                         Streaming{.chunk_items = 3, .rows = 4, .lag = 2, .depth = 4, .window = 1},
                                         Streaming{.chunk_items = 3, .rows = 4, .lag = 2, .depth = 4, .window = 2},
                                         Streaming{.chunk_items = 7, .rows = 1, .lag = 2, .depth = 3},
                                         Streaming{.chunk_items = 7, .rows = 5, .lag = 2, .depth = 6},
                                         Streaming{.chunk_items = 3, .rows = 4, .lag = 2, .depth = 1},
                                         Streaming{.chunk_items = 100, .rows = 7, .lag = 1, .depth = 3}),
                         [](const auto& run) { return fmt::format("{}", run.index); });

/// Under a script, in one thread.
struct ScriptedWorld {
    ScriptedWorld(Script& script, const Streaming& job, std::uint64_t seed, bool rings = true)
        : grid(job.items, job.chunk_items),
          device(script, rings),
          transport(script, device, grid, job.depth, seed),
          model(job.rows, job.lag),
          trace("recording", grid.chunks()),
          pipeline(std::in_place, device, transport, model,
                   PipelineOptions{.depth = job.depth, .chunk_items = job.chunk_items}, trace) {}

    ChunkGrid grid;
    RecordingDevice device;
    RecordingTransport transport;
    StreamingModel model;
    DeviceTrace trace;
    std::optional<Pipeline> pipeline;
};

TEST(LateCompletion, HoldsUnderAnyInterleaving) {
    for (const std::uint32_t lag : {1U, 2U, 4U}) {
        for (const std::uint32_t depth : {1U, lag + 1, lag + 3}) {
            for (const std::uint32_t chunk_items : {1U, 3U, 7U}) {
                for (std::uint64_t seed = 0; seed < 20; ++seed) {
                    const Streaming job{.items = 2 * seed, .chunk_items = chunk_items, .lag = lag, .depth = depth};
                    SCOPED_TRACE(fmt::format("{}, seed {}", text_of(job), seed));
                    Script script;
                    ScriptedWorld world(script, job, seed, seed % 2 == 0);

                    world.pipeline->run();

                    EXPECT_EQ(world.transport.results(), test::streamed_results(job.items));
                    EXPECT_LE(world.transport.most_in_flight(), depth);
                    EXPECT_EQ(world.transport.requests(), world.transport.answers());
                    EXPECT_FALSE(world.device.has_pending());
                }
            }
        }
    }
}

TEST(LateCompletion, SendsAChunkBackBehindTheForwardThatIsLagLater) {
    Script script;
    script.permits = [&](const std::string& step) {
        return (step != "compute run 2" || script.has("arrive 5")) &&
               (step != "download copy 1" || script.has("delivered 0"));
    };
    ScriptedWorld world(script, {.items = 30, .chunk_items = 3, .lag = 2, .depth = 6}, 1);

    world.pipeline->run();

    EXPECT_LT(script.at("compute run 2"), script.at("download copy 0"));
    EXPECT_LT(script.at("download copy 0"), script.at("deliver 0"));
    EXPECT_LT(script.at("compute run 3"), script.at("download copy 1"));
}

TEST(LateCompletion, FinishesOnceWhenChunksNeverFailToCome) {
    Script script;
    script.permits = [&](const std::string& step) {  // the device is always slower than the transport
        return !step.starts_with("compute run") ||
               script.has(fmt::format("arrive {}", std::min(std::stoi(step.substr(12)) + 1, 10)));
    };
    ScriptedWorld world(script, {.items = 30, .chunk_items = 3, .lag = 2, .depth = 6}, 1);

    world.pipeline->run();

    EXPECT_EQ(world.model.finishes(), 1U);
    EXPECT_EQ(world.transport.results(), test::streamed_results(30));
}

TEST(LateCompletion, FinishesWhatAnotherChunkWaitsFor) {
    Script script;
    script.permits = [&](const std::string& step) {  // a server that grants a chunk when the one before is written
        return !step.starts_with("arrive ") || step == "arrive 0" ||
               script.has(fmt::format("delivered {}", std::min(std::stoi(step.substr(7)) - 1, 9)));
    };
    ScriptedWorld world(script, {.items = 30, .chunk_items = 3, .lag = 2, .depth = 6}, 1);

    world.pipeline->run();

    EXPECT_EQ(world.transport.results(), test::streamed_results(30));
    EXPECT_EQ(world.model.finishes(), 10U);
}

TEST(LateCompletion, KeepsOneChunkAtATimeInSerialMode) {
    Script script;
    ScriptedWorld world(script, {.items = 15, .chunk_items = 3, .lag = 2, .depth = 1}, 1);

    world.pipeline->run();

    EXPECT_EQ(world.model.finishes(), 5U);
    for (int id = 1; id < 5; ++id) {
        EXPECT_LT(script.at(fmt::format("delivered {}", id - 1)), script.at(fmt::format("request {}", id)));
    }
}

struct LateFault {
    const char* step;
    Stage stage;
    std::uint64_t chunk;
    std::vector<std::uint64_t> beside = {};
};

class LateFailure : public testing::TestWithParam<LateFault> {};

TEST_P(LateFailure, NamesTheChunksWhoseWorkHasFailedAndFreesNoBufferUnderWork) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Script script;
        script.fails = GetParam().step;
        script.permits = [&](const std::string& step) {  // so that the model is told to finish at the end only
            return !step.starts_with("compute run") ||
                   script.has(fmt::format("arrive {}", std::min(std::stoi(step.substr(12)) + 1, 10)));
        };
        ScriptedWorld world(script, {.items = 30, .chunk_items = 3, .lag = 2, .depth = 5}, seed);

        try {
            world.pipeline->run();
            ADD_FAILURE() << "did not fail";
        } catch (const StageError& error) {
            EXPECT_EQ(error.stage(), GetParam().stage) << "seed " << seed;
            EXPECT_EQ(error.chunk(), world.grid.at(GetParam().chunk)) << "seed " << seed;
            EXPECT_EQ(error.beside(), GetParam().beside) << "seed " << seed;
            EXPECT_EQ(describe(error.cause(), "").text.what, "internal error: " + script.fails + " failed");
        }
        world.pipeline.reset();

        EXPECT_FALSE(world.device.freed_under_work());
    }
}

INSTANTIATE_TEST_SUITE_P(Stages, LateFailure,
                         testing::Values(LateFault{"upload copy 4", Stage::upload, 4},
                                         LateFault{"compute run 1", Stage::compute, 0, {1}},  // completes no chunk
                                         LateFault{"compute run 4", Stage::compute, 2, {3, 4}},
                                         LateFault{"compute run 10", Stage::compute, 8, {9}},  // finish()
                                         LateFault{"download copy 4", Stage::download, 4}),
                         [](const auto& fault) {
                             return fmt::format("{}{}", to_string(fault.param.stage), fault.index);
                         });

TEST(LateCompletion, FailsAsTheModelDoesOnThreads) {
    for (const std::uint64_t window : {1U, 100U}) {
        HostWorld world({.items = 40, .lag = 2, .depth = 4, .window = window, .on_item = [](std::uint32_t index) {
                             if (index == 22) {
                                 throw std::runtime_error("the model is sick");
                             }
                         }});

        try {
            world.pipeline->run();
            ADD_FAILURE() << "did not fail";
        } catch (const StageError& error) {
            EXPECT_EQ(error.stage(), Stage::compute);
            std::vector<std::uint64_t> suspects = error.beside();
            suspects.push_back(error.chunk().id);
            EXPECT_THAT(suspects, testing::Contains(7U)) << "item 22's, whichever forward() it was in";
            EXPECT_LE(suspects.size(), 3U);
        }
        EXPECT_LE(world.transport.results.size(), 21U);
    }
}

TEST(LateCompletion, TracesHowLongTheThreadThatComputesHadNoCpu) {
    HostWorld world({});

    world.pipeline->run();

    EXPECT_EQ(world.trace.run_delay().has_value(), read_run_delay().has_value()) << "where the kernel counts it";
}

TEST(LateCompletion, RefusesADepthThatHoldsNoMoreThanTheModelHoldsBack) {
    EXPECT_THROW(HostWorld({.lag = 2, .depth = 2}), ContractViolation);
}

}  // namespace
}  // namespace sluice
