#include "tools/runtime/prepare_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_job.hpp"

namespace sluice {
namespace {

class FakeApp final : public LoadedApp {
public:
    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, std::uint32_t) const override {
        return std::make_unique<test::FakeModel>();
    }
};

/// A process alone.
class PrepareRank : public testing::Test {
protected:
    /// With two devices, of a run that goes on.
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
    Lanes lanes_;
    HangWatch hangs_{board_, lanes_, "n07"};
    LastWords last_words_;
    RankContext context_{.apps = apps_,
                         .board = board_,
                         .bell = bell_,
                         .stop = stop_,
                         .lanes = lanes_,
                         .hangs = hangs_,
                         .last_words = last_words_,
                         .host = "n07"};
    JobPlan plan_{.items = 97, .chunk_items = 10, .depth = 2, .first_chunk = 4};
};

TEST_F(PrepareRank, MeetsItselfWhenItIsAlone) {
    const Meeting meeting = meet_ranks(context_);

    EXPECT_THAT(meeting.hosts, testing::ElementsAre("n07"));
    EXPECT_THAT(meeting.instructions, testing::ElementsAre(host_instructions()));
    EXPECT_EQ(meeting.clock.error.count(), 0);
    EXPECT_EQ(announce(context_, {.code = 66}).code, 66);
}

TEST_F(PrepareRank, DrivesItsDevicesThroughWhatIsLeft) {
    PreparedRank rank = prepared();

    const DriverTeamOptions options = driver_options(context_, plan_, rank);

    EXPECT_THAT(options.device_numbers, testing::ElementsAre(2, 5));
    EXPECT_EQ(options.chunks, 6U);
    EXPECT_EQ(options.pipeline.last_items, 7U);
    EXPECT_TRUE(options.cpus.empty());
}

TEST_F(PrepareRank, TiesDriversToTheirPlaceWhereItBinds) {
    PreparedRank rank = prepared();
    rank.share.binds = true;

    const DriverTeamOptions options = driver_options(context_, plan_, rank);

    ASSERT_EQ(options.cpus.size(), 2U);
    EXPECT_EQ(options.cpus[1], CpuSet::range(4, 7));
    EXPECT_EQ(options.machine, &rank.share.machine);
}

TEST_F(PrepareRank, CountsTheQueuesOfRank0AsItsMemory) {
    PreparedRank rank = prepared();
    check_memory(context_, plan_, rank);

    rank.queues.staged = 4'000'000'000;

    try {
        check_memory(context_, plan_, rank);
        FAIL() << "40 TB are no rank's share";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    }
}

}  // namespace
}  // namespace sluice
