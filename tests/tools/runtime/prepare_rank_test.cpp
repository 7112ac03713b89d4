#include "tools/runtime/prepare_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/weights/packed_weights.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice {
namespace {

class FakeApp final : public LoadedApp {
public:
    /// 0: its models read none.
    explicit FakeApp(std::size_t weight_bytes = 0) {
        if (weight_bytes != 0) {
            static_cast<void>(weights_.emplace().reserve(weight_bytes, {[this](std::byte*) { packed_ = true; }}));
        }
    }
    [[nodiscard]] PackedWeights* weights() override { return weights_ ? &*weights_ : nullptr; }
    [[nodiscard]] bool is_packed() const { return packed_; }
    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, const ModelRoom&) const override {
        return std::make_unique<test::FakeModel>();
    }

private:
    std::optional<PackedWeights> weights_;
    bool packed_ = false;
};

/// A process alone.
class PrepareRank : public testing::Test {
protected:
    /// With two devices, of a resumed run.
    [[nodiscard]] PreparedRank prepared() const {
        PreparedRank rank;
        rank.share.place.devices = {{.number = 2, .cpus = CpuSet::range(0, 3)},
                                    {.number = 5, .cpus = CpuSet::range(4, 7)}};
        rank.app = std::make_unique<FakeApp>();
        rank.wire.item = {.input_bytes = 1024, .output_bytes = 4};
        return rank;
    }

    Apps apps_{{}};
    RankBoard board_;
    Doorbell bell_;
    StopRequest stop_{bell_};
    Activities activities_;
    HangWatch hangs_{board_, activities_, "n07"};
    ShutdownHook shutdown_hook_;
    PhaseLog phases_;
    ThrottleMeter throttling_{{}};
    RankContext context_{.apps = apps_,
                         .board = board_,
                         .bell = bell_,
                         .stop = stop_,
                         .activities = activities_,
                         .hangs = hangs_,
                         .shutdown_hook = shutdown_hook_,
                         .phases = phases_,
                         .throttling = throttling_,
                         .host = "n07"};
    JobPlan plan_{.items = 97, .chunk_items = 10, .depth = 2, .first_chunk = 4};
};

TEST(PackAlone, RefusesWeightsThatTakeMoreThanThereIsBeforeItPacksThem) {
    constexpr std::size_t bytes = 4096;
    FakeApp app(bytes);

    const Error error = test::error_of([&] { pack_alone(app, 1, bytes - 1); });

    EXPECT_EQ(error.text().id, "E-MEM-068");
    EXPECT_EQ(error.text().where, "packed for the devices");
    EXPECT_FALSE(app.is_packed());

    pack_alone(app, 1, bytes);

    EXPECT_TRUE(app.is_packed());
}

TEST_F(PrepareRank, MeetsItselfWhenItIsAlone) {
    const Meeting meeting = meet_ranks(context_);

    EXPECT_THAT(meeting.hosts, testing::ElementsAre("n07"));
    EXPECT_THAT(meeting.instructions, testing::ElementsAre(host_instructions()));
    EXPECT_EQ(meeting.clock.error.count(), 0);
    EXPECT_EQ(announce(context_, {.code = 66}).code, 66);
}

TEST_F(PrepareRank, HearsWhoWantsGpusAsItWasSaid) {
    const auto heard = [](const GpuWish& wish) {
        return decode_announcement(encode(RootAnnouncement{.wish = wish})).wish;
    };
    const GpuWish some = heard({.wanted = true, .devices = 2, .bind = BindMode::inherit});
    const GpuWish all = heard({.wanted = true});

    EXPECT_TRUE(some.wanted);
    EXPECT_EQ(some.devices, 2U);
    EXPECT_EQ(some.bind, BindMode::inherit);
    EXPECT_EQ(all.devices, std::nullopt);
    EXPECT_EQ(all.bind, BindMode::gpu_local);
    EXPECT_FALSE(heard({}).wanted);
}

TEST_F(PrepareRank, StartsNoGpusForAHost) {
    JobConfig job;
    job.run.device = DeviceKind::host;

    const GpuStart none = start_gpus(context_, gpu_wish(job));

    EXPECT_FALSE(none.node.has_value());
    EXPECT_EQ(none.driver, nullptr);
}

TEST_F(PrepareRank, DrivesItsDevicesThroughWhatIsLeft) {
    PreparedRank rank = prepared();

    const DriverTeamOptions options = driver_options(context_, plan_, rank);

    EXPECT_THAT(options.places,
                testing::ElementsAre(testing::Field(&DevicePlace::number, 2), testing::Field(&DevicePlace::number, 5)));
    EXPECT_EQ(options.driver_start, nullptr) << "of a host";
    EXPECT_EQ(options.chunks, 6U);
    EXPECT_EQ(options.pipeline.last_items, 7U);
    EXPECT_EQ(options.machine, nullptr) << "nothing is bound";
}

TEST_F(PrepareRank, TiesDriversToTheirPlaceWhereItBinds) {
    PreparedRank rank = prepared();
    rank.share.binds = true;

    const DriverTeamOptions options = driver_options(context_, plan_, rank);

    ASSERT_EQ(options.places.size(), 2U);
    EXPECT_EQ(options.places[1].cpus, CpuSet::range(4, 7));
    EXPECT_EQ(options.machine, &rank.share.machine);
}

TEST_F(PrepareRank, TellsItsDriversTheDepthThatHoldsWhatModelsHoldBack) {
    PreparedRank rank = prepared();
    rank.wire.depth = 5;
    rank.host_bytes = 12'345;
    rank.share.place.devices[1].ranks = 2;

    const DriverTeamOptions options = driver_options(context_, plan_, rank);

    EXPECT_EQ(options.pipeline.depth, 5U);
    EXPECT_EQ(options.memory.depth, 5U);
    EXPECT_EQ(options.memory.chunk_items, 10U);
    EXPECT_EQ(options.host_bytes, 12'345U) << "what its plan was compared with, whatever is taken meanwhile";
    ASSERT_EQ(options.places.size(), 2U);
    EXPECT_EQ(options.places[1].ranks, 2U);
}

TEST_F(PrepareRank, CountsTheQueuesOfRank0AsItsMemory) {
    PreparedRank rank = prepared();
    rank.host_bytes = context_.memory_share();
    check_memory(plan_, rank);

    rank.queues = QueueSizes{.staged = 4'000'000'000};

    const Error error = test::error_of([&] { check_memory(plan_, rank); });

    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
}

}  // namespace
}  // namespace sluice
