#include "tools/runtime/driver_team.hpp"
#include "tests/support/error_of.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/device/cuda.hpp"
#include "core/stage_error.hpp"
#include "core/sync/turn.hpp"
#include "tests/support/local_job.hpp"

namespace sluice {
namespace {

using test::FakeModel;
using test::FakeSource;
using test::MemoryWriter;

class TeamApp final : public LoadedApp {
public:
    explicit TeamApp(FakeModel::OnChunk on_chunk = nullptr) : on_chunk_(on_chunk) {}

    [[nodiscard]] std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        room_ = room.device_bytes;
        if (room.most_items == 13) {
            throw Error(ExitCode::out_of_memory, {.id = "E-MEM-068", .where = std::string(device.name())});
        }
        return std::make_unique<FakeModel>(on_chunk_);
    }

    [[nodiscard]] std::uint64_t least_room(std::uint32_t most_items) const override { return 100 * most_items; }

    /// That the last model was given.
    [[nodiscard]] std::uint64_t room() const noexcept { return room_; }

private:
    FakeModel::OnChunk on_chunk_;
    mutable std::atomic<std::uint64_t> room_{0};
};

constexpr std::uint64_t memory_of_rank = 1 << 20;

MemoryNeeds needs_of(const TeamApp& app, std::uint32_t chunk_items) {
    return {.shape = {test::fake_input_bytes, test::fake_output_bytes},
            .chunk_items = chunk_items,
            .depth = 2,
            .devices = 3,
            .work_bytes = app.least_room(chunk_items)};
}

struct Outcome {
    std::vector<std::uint64_t> results;
    RankTrace trace;
};

/// A job of 100 items on three host devices.
Outcome run_team(const TeamApp& app, std::uint32_t chunk_items, const std::vector<std::string>& gpus = {},
                 const DriverStart* start = nullptr) {
    const FakeSource source(100);
    MemoryWriter writer;
    test::LocalServer server({.devices = 3, .driver = {.depth = 2, .chunk_items = chunk_items}}, source, writer);
    DriverTeam team(app, server.endpoints,
                    {.places = {{.number = 0}, {.number = 1}, {.number = 2}},
                     .gpus = gpus,
                     .pipeline = {.depth = 2, .chunk_items = chunk_items},
                     .memory = needs_of(app, chunk_items),
                     .host_bytes = memory_of_rank,
                     .chunks = server.grid.chunks(),
                     .driver_start = start});
    server.run();
    RankTrace trace = team.take_trace();
    return {.results = writer.results, .trace = std::move(trace)};
}

TEST(DriverTeam, DrivesEveryDeviceToTheEndAndRecordsIt) {
    const TeamApp app;

    const auto [results, trace] = run_team(app, 5);

    EXPECT_EQ(results, test::expected_results(100));
    ASSERT_EQ(trace.devices.size(), 3U);
    std::uint64_t items = 0;
    for (std::size_t i = 0; i < trace.devices.size(); ++i) {
        for (const ChunkSpans& spans : trace.devices[i].chunks()) {
            items += spans.chunk.count;
        }
        EXPECT_EQ(trace.milestones.first_compute[i].has_value(), !trace.devices[i].chunks().empty());
    }
    EXPECT_EQ(items, 100U);
    const Milestones& at = trace.milestones;
    EXPECT_LE(at.devices_ready, at.buffers_ready);
    EXPECT_LE(at.scatter_begin, at.scatter_end);
    EXPECT_LE(at.scatter_begin, at.compute_end);
    EXPECT_LE(at.compute_end, at.delivered);
}

TEST(DriverTeam, GivesEachModelItsRoom) {
    const TeamApp app;

    static_cast<void>(run_team(app, 5));

    EXPECT_EQ(app.room(), room_on_host(needs_of(app, 5), memory_of_rank).device_bytes);
    EXPECT_GT(app.room(), memory_of_rank / 4);
}

TEST(DriverTeam, HandsOverWhatAModelFailsWith) {
    const TeamApp app([](std::span<const std::byte>) { throw std::runtime_error("sick"); });

    EXPECT_THROW(static_cast<void>(run_team(app, 5)), StageError);
}

/// Of a GPU that no machine has.
std::string id_of_absence() {
    const std::string no_cuda = why_no_cuda();
    return no_cuda == "built without CUDA" ? "E-GPU-063" : no_cuda == "no NVIDIA driver" ? "E-GPU-061" : "E-GPU-064";
}

TEST(DriverTeam, RefusesAModelOfAnotherShapeThanItsApp) {
    const TeamApp app;
    const FakeSource source(10);
    MemoryWriter writer;
    test::LocalServer server({.devices = 1, .driver = {.depth = 2, .chunk_items = 5}}, source, writer);
    MemoryNeeds needs = needs_of(app, 5);
    needs.shape.output_bytes += 8;
    DriverTeam team(app, server.endpoints,
                    {.places = {{.number = 0}},
                     .pipeline = {.depth = 2, .chunk_items = 5},
                     .memory = needs,
                     .chunks = server.grid.chunks()});

    EXPECT_THROW(server.run(), ContractViolation);
}

TEST(DeviceNumber, IsThatOfTheGpuOfThisUuidOrTheOneThatCudaHasGivenIt) {
    const std::vector<DevicePlace> places{{.number = 3}, {.number = 5}};

    EXPECT_EQ(device_number(places, {}, 1), 5U);
    const Error error = test::error_of([&] {
        return device_number(places, std::vector<std::string>{"GPU-a", "GPU-b"}, 1);
    });

    EXPECT_EQ(error.text().id, id_of_absence()) << error.what();
}

TEST(DriverTeam, TakesNoOtherGpuThanItsOwnAndSaysWhy) {
    const TeamApp app;

    const Error error = test::error_of([&] { return run_team(app, 5, {"GPU-a", "GPU-b", "GPU-c"}); });

    EXPECT_EQ(error.code(), ExitCode::unavailable);
    EXPECT_EQ(error.text().id, id_of_absence()) << error.what();
}

/// As where a job chose the host after its GPUs had begun to start.
TEST(DriverTeam, OfHostDevicesWaitsForNoTurnOfGpus) {
    const TeamApp app;
    Turn never;
    const DriverStart start({},
                            {.wait = [&](const std::stop_token& stop) { never.wait(stop, std::chrono::hours(1)); }});

    EXPECT_EQ(run_team(app, 5, {}, &start).results.size(), 100U);
}

TEST(DriverTeam, HandsOverWhatMakingAModelFailsWith) {
    const TeamApp app;

    const Error error = test::error_of([&] { return run_team(app, 13); });

    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
}

}  // namespace
}  // namespace sluice
