#include "scheduler/pipeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/stage_error.hpp"
#include "tests/support/recording_transport.hpp"

namespace sluice {
namespace {

using test::RecordingDevice;
using test::RecordingStream;
using test::RecordingTransport;
using test::Script;

constexpr std::uint32_t chunk_items = 3;

class RecordingModel final : public Model {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {test::fake_input_bytes, test::fake_output_bytes}; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        dynamic_cast<RecordingStream&>(stream).run([items, in, out] {
            for (std::size_t i = 0; i < items; ++i) {
                const std::uint64_t value =
                    test::fake_result(in.subspan(i * test::fake_input_bytes, test::fake_input_bytes));
                std::memcpy(out.data() + i * test::fake_output_bytes, &value, sizeof value);
            }
        });
    }
};

struct Setup {
    std::uint64_t items = 20;
    std::uint32_t depth = 3;
    std::uint64_t seed = 1;
    bool rings = true;
    std::uint32_t room = chunk_items;  ///< Of a slot, in items.
    Activities* activities = nullptr;
};

/// Everything that one pipeline needs. Declared in this order: the pipeline goes first.
struct World {
    World(Script& its_script, const Setup& setup)
        : script(its_script),
          grid(setup.items, chunk_items),
          device(script, setup.rings),
          transport(script, device, grid, setup.depth, setup.seed),
          trace("recording", grid.chunks()),
          pipeline(std::make_unique<Pipeline>(
              device, transport, model,
              PipelineOptions{.depth = setup.depth, .chunk_items = setup.room, .activities = setup.activities},
              trace)) {}

    Script& script;
    ChunkGrid grid;
    RecordingDevice device;
    RecordingTransport transport;
    RecordingModel model;
    DeviceTrace trace;
    std::unique_ptr<Pipeline> pipeline;
};

/// `step`s of chunk `id`, in the order that a chunk must take.
std::vector<std::string> way_of(std::uint64_t id) {
    std::vector<std::string> way;
    for (const char* step : {"request", "arrive", "fetch", "enqueue upload copy", "upload copy", "compute run",
                             "download copy", "deliver", "delivered"}) {
        way.push_back(fmt::format("{} {}", step, id));
    }
    return way;
}

void expect_order(const Script& script, const std::vector<std::string>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        ASSERT_TRUE(script.has(steps[i])) << steps[i];
        if (i > 0) {
            EXPECT_LT(script.at(steps[i - 1]), script.at(steps[i])) << steps[i - 1] << " before " << steps[i];
        }
    }
}

/// That its stages took place one after the other.
void expect_order(const ChunkSpans& spans) {
    Instant before{};
    for (const auto& [stage, member] : chunk_stages) {
        const Interval& span = spans.*member;
        EXPECT_NE(span, Interval{}) << to_string(stage);
        EXPECT_LE(before, span.begin) << to_string(stage);
        EXPECT_LE(span.begin, span.end) << to_string(stage);
        before = span.end;
    }
}

class AnyInterleaving : public testing::TestWithParam<std::tuple<std::uint64_t, std::uint32_t, bool>> {};

TEST_P(AnyInterleaving, TakesEveryChunkThroughItsStepsInOrderWithinTheDepth) {
    const auto [items, depth, rings] = GetParam();
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Script script;
        World world(script, {.items = items, .depth = depth, .seed = seed, .rings = rings});

        world.pipeline->run();

        SCOPED_TRACE(fmt::format("seed {}", seed));
        EXPECT_EQ(world.transport.results(), test::expected_results(items));
        EXPECT_LE(world.transport.most_in_flight(), depth);
        EXPECT_EQ(world.transport.requests(), world.transport.answers()) << "no request is left open";
        EXPECT_FALSE(world.device.has_pending());
        ASSERT_EQ(world.trace.chunks().size(), world.grid.chunks());
        for (std::uint64_t id = 0; id < world.grid.chunks(); ++id) {
            expect_order(script, way_of(id));
            EXPECT_EQ(world.trace.chunks()[id].chunk, world.grid.at(id));
            expect_order(world.trace.chunks()[id]);
            if (id >= depth) {  // the slot's next turn
                expect_order(script, {fmt::format("delivered {}", id - depth), fmt::format("request {}", id)});
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AnyInterleaving,
                         testing::Combine(testing::Values(0, 1, 3, 4, 50), testing::Values(1, 2, 3, 7),
                                          testing::Bool()));

TEST(Pipeline, NeverOverlapsTwoChunksInSerialMode) {
    Script script;
    World world(script, {.items = 30, .depth = 1});

    world.pipeline->run();

    for (std::uint64_t id = 1; id < world.grid.chunks(); ++id) {
        expect_order(script, {fmt::format("delivered {}", id - 1), fmt::format("request {}", id)});
    }
}

TEST(Pipeline, TellsWhatItIsAtAndHowLongItsChunksTake) {
    Activities activities;
    Script script;
    std::map<std::string, std::string> at_step;
    script.permits = [&](const std::string& step) {
        at_step[step] = describe(activities.look().front());
        return true;
    };
    World world(script, {.items = 2 * chunk_items, .depth = 1, .activities = &activities});

    world.pipeline->run();

    EXPECT_EQ(at_step["arrive 1"], "device 0: waits for a chunk");
    EXPECT_EQ(at_step["fetch 1"], "device 0: copies the items of chunk 1");
    EXPECT_EQ(at_step["compute run 1"], "device 0: computes chunk 1");
    EXPECT_EQ(at_step["delivered 1"], "device 0: waits for rank 0 to take the results of chunk 1");
    EXPECT_EQ(describe(activities.look().front()), "device 0: has ended");
    EXPECT_GT(activities.look().front().state.p99_ns, 0U);
}

TEST(Pipeline, UploadsTheNextChunksWhileOneIsComputed) {
    Script script;
    script.permits = [&](const std::string& step) {
        return step != "compute run 0" || script.has("upload copy 2");  // else the pipeline would be stuck
    };
    World world(script, {.items = 30, .depth = 3});

    world.pipeline->run();

    expect_order(script, {"upload copy 1", "upload copy 2", "compute run 0"});
}

TEST(Pipeline, ComputesTheNextChunkWhileResultsAreDownloadedAndDelivered) {
    Script script;
    script.permits = [&](const std::string& step) {
        return (step != "download copy 0" || script.has("compute run 1")) &&
               (step != "delivered 0" || script.has("compute run 2"));
    };
    World world(script, {.items = 30, .depth = 3});

    world.pipeline->run();

    expect_order(script, {"compute run 1", "download copy 0", "deliver 0", "delivered 0"});
    expect_order(script, {"compute run 2", "delivered 0"});
}

TEST(Pipeline, ReusesASlotOnlyAfterItsResultWasDelivered) {
    Script script;
    script.permits = [&](const std::string& step) {
        return step != "delivered 0" || (script.has("download copy 1") && script.has("deliver 1"));
    };
    World world(script, {.items = 30, .depth = 2});

    world.pipeline->run();

    expect_order(script, {"deliver 1", "delivered 0", "request 2"});
}

TEST(Pipeline, FinishesTheChunksUnderWayAfterTheInputHasEnded) {
    Script script;
    script.permits = [&](const std::string& step) {
        return step != "upload copy 0" || script.has("arrive 2");  // request 2 is answered with the end
    };
    World world(script, {.items = 2 * chunk_items, .depth = 3});

    world.pipeline->run();

    expect_order(script, {"arrive 2", "upload copy 0", "delivered 1"});
    EXPECT_EQ(world.transport.results().size(), 2 * chunk_items);
}

TEST(Pipeline, LaunchesWhatItCapturedForFullChunksOnceEachSlotHasIt) {
    Script script;
    World world(script, {.items = 10 * chunk_items + 1, .depth = 3});

    world.pipeline->run();

    EXPECT_EQ(world.device.streams()[1]->launches(), 10U - 3U) << "the last chunk is not full";
    EXPECT_EQ(world.transport.results(), test::expected_results(10 * chunk_items + 1));
}

TEST(Pipeline, CapturesShortChunksWhoseSizeASlotMeetsAgain) {
    Script script;
    World world(script, {.items = 10 * chunk_items + 1, .depth = 3, .room = chunk_items + 2});

    world.pipeline->run();

    // A slot's first chunk is enqueued, its second captured; the last one of all has a size of its own.
    EXPECT_EQ(world.device.streams()[1]->launches(), 10U - 2U * 3U);
    EXPECT_EQ(world.transport.results(), test::expected_results(10 * chunk_items + 1));
}

TEST(Pipeline, MayRunWithMoreSlotsThanChunks) {
    Script script;
    World world(script, {.items = 1, .depth = 50});

    world.pipeline->run();

    EXPECT_EQ(world.transport.results(), test::expected_results(1));
}

struct Fault {
    const char* step;
    Stage stage;
};

class Failing : public testing::TestWithParam<Fault> {};

TEST_P(Failing, NamesStageAndChunkAndFreesNoBufferUnderWork) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Script script;
        script.fails = fmt::format("{} 4", GetParam().step);
        World world(script, {.items = 50, .depth = 3, .seed = seed});

        try {
            world.pipeline->run();
            ADD_FAILURE() << "did not fail";
        } catch (const StageError& error) {
            EXPECT_EQ(error.stage(), GetParam().stage);
            EXPECT_EQ(error.chunk(), world.grid.at(4));
            EXPECT_EQ(describe(error.cause(), "").text.what, "internal error: " + script.fails + " failed");
        }
        world.pipeline.reset();

        EXPECT_FALSE(world.device.freed_under_work()) << "seed " << seed;
        EXPECT_FALSE(script.has("delivered 4"));
    }
}

INSTANTIATE_TEST_SUITE_P(Stages, Failing,
                         testing::Values(Fault{"upload copy", Stage::upload}, Fault{"compute run", Stage::compute},
                                         Fault{"download copy", Stage::download}),
                         [](const auto& fault) { return std::string(to_string(fault.param.stage)); });

TEST(Pipeline, NamesTheTransportWhenARequestFails) {
    Script script;
    script.fails = "request 5";
    World world(script, {.items = 50});

    try {
        world.pipeline->run();
        ADD_FAILURE() << "did not fail";
    } catch (const StageError& error) {
        EXPECT_EQ(error.stage(), Stage::scatter);
    }
}

TEST(Pipeline, RefusesADepthOrChunkOfZero) {
    Script script;
    const ChunkGrid grid(1, 1);
    RecordingDevice device(script);
    RecordingTransport transport(script, device, grid, 1, 0);
    RecordingModel model;
    DeviceTrace trace("recording", 1);

    EXPECT_THROW(Pipeline(device, transport, model, {.depth = 0, .chunk_items = 1}, trace), ContractViolation);
    EXPECT_THROW(Pipeline(device, transport, model, {.depth = 1, .chunk_items = 0}, trace), ContractViolation);
}

}  // namespace
}  // namespace sluice
