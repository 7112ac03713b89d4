#include "comm/hang_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>

#include "tests/comm/node_boards.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto timeout = 10s;

StillActivity activity(ActivityKind kind, std::uint32_t group, Activity::Doing doing, std::chrono::nanoseconds still,
                       std::chrono::nanoseconds longest = 0s) {
    return {.activity = {.kind = kind,
                         .name = "activity",
                         .group = group,
                         .state = {.doing = doing, .p99_ns = static_cast<std::uint64_t>(longest.count())}},
            .still = still};
}

TEST(Stillness, GrowsWhileNothingMoves) {
    Stillness stillness;

    stillness.see(1, 5s);
    stillness.see(1, 2s);
    stillness.see(1, 2s);
    EXPECT_EQ(stillness.still(), 4s);

    stillness.see(2, 2s);
    EXPECT_EQ(stillness.still(), 0s);
}

TEST(FindStuck, TakesWhoIsAtWorkAndDoesNotMove) {
    const std::vector<StillActivity> activities{activity(ActivityKind::reader, 0, Activity::Doing::wait, 20s),
                                                activity(ActivityKind::writer, 1, Activity::Doing::work, 11s),
                                                activity(ActivityKind::device, 2, Activity::Doing::work, 12s)};

    EXPECT_EQ(find_stuck(activities, timeout), &activities[2]);
    EXPECT_EQ(find_stuck(std::span(activities).first(2), timeout), &activities[1]);
    EXPECT_EQ(find_stuck(std::span(activities).first(1), timeout), nullptr);
    EXPECT_EQ(find_stuck({}, timeout), nullptr);
}

TEST(FindStuck, LeavesADeviceAloneOfWhichAStreamMoves) {
    const std::vector<StillActivity> activities{activity(ActivityKind::device, 0, Activity::Doing::work, 50s),
                                                activity(ActivityKind::stream, 0, Activity::Doing::work, 1s)};

    EXPECT_EQ(find_stuck(activities, timeout), nullptr);
}

TEST(FindStuck, DoesNotCountActivitiesThatHaveEnded) {
    const std::vector<StillActivity> activities{activity(ActivityKind::device, 0, Activity::Doing::work, 50s),
                                                activity(ActivityKind::stream, 0, Activity::Doing::nothing, 1s),
                                                activity(ActivityKind::reader, 1, Activity::Doing::nothing, 50s)};

    EXPECT_EQ(find_stuck(activities, timeout), &activities[0]);
}

TEST(FindStuck, GivesADeviceTwentyTimesItsLongestChunk) {
    const std::vector<StillActivity> patient{activity(ActivityKind::device, 0, Activity::Doing::work, 19s, 1s)};
    const std::vector<StillActivity> stuck{activity(ActivityKind::device, 0, Activity::Doing::work, 21s, 1s)};

    EXPECT_EQ(find_stuck(patient, timeout), nullptr);
    EXPECT_EQ(find_stuck(stuck, timeout), &stuck[0]);
}

TEST(StandsStill, WhenAllWaitForLongerThanAllowed) {
    std::vector<StillActivity> activities{activity(ActivityKind::comm, 0, Activity::Doing::work, 0s),
                                          activity(ActivityKind::device, 1, Activity::Doing::wait, 11s),
                                          activity(ActivityKind::writer, 2, Activity::Doing::wait, 12s)};
    EXPECT_TRUE(stands_still(activities, timeout));

    activities[1].still = 9s;
    EXPECT_FALSE(stands_still(activities, timeout));

    activities[1] = activity(ActivityKind::device, 1, Activity::Doing::work, 11s);
    EXPECT_FALSE(stands_still(activities, timeout));
}

/// The watch of a process alone, whose clock the test moves on.
class Watch : public testing::Test {
protected:
    void begin() { watch_.begin({.timeout = timeout, .devices = 1, .book = &book_, .hosts = {"n07"}}); }

    std::optional<Hang> look_after(std::chrono::seconds time) {
        for (; time > 0s; time -= 1s) {
            now_ += 1s;
            if (auto hang = watch_.look(now_, phase_, run_delay_)) {
                return hang;
            }
        }
        return std::nullopt;
    }

    RankBoard board_;
    Activities activities_;
    GrantBook book_{4, 1};
    HangWatch watch_{board_, activities_, "n07"};
    Instant now_{};
    RunPhase phase_ = RunPhase::serving;
    std::optional<std::chrono::nanoseconds> run_delay_ = 7s;  // of the thread that looks
};

TEST_F(Watch, NamesTheActivityThatHangsAndWhoWaits) {
    Activity& writer = activities_.add(ActivityKind::writer, "writer");
    Activity& reader = activities_.add(ActivityKind::reader, "reader 0");
    reader.work(Stage::read, 105);
    writer.wait(Stage::gather, 104);
    begin();

    EXPECT_FALSE(look_after(9s));
    const auto hang = look_after(5s);

    ASSERT_TRUE(hang);
    EXPECT_EQ(hang->where, "rank 0 on n07");
    EXPECT_THAT(hang->what, HasSubstr("reader 0: reads chunk 105"));
    EXPECT_THAT(hang->dump, HasSubstr("writer: waits for the results of chunk 104"));
}

TEST_F(Watch, KnowsWhenTheProcessWasSuspended) {
    begin();
    EXPECT_FALSE(look_after(5s));
    EXPECT_TRUE(watch_.suspensions(now_ + 900ms).empty()) << "only late";
    const Instant before = now_;
    now_ += 1h;
    const std::vector<Interval> expected{{before + look_interval, now_}};

    EXPECT_EQ(watch_.suspensions(now_), expected) << "before the watching thread has looked";

    EXPECT_FALSE(look_after(2s));
    EXPECT_EQ(watch_.suspensions(now_), expected);
}

TEST_F(Watch, DoesNotTakeAThreadThatWaitedForACpuForASuspendedProcess) {
    begin();
    EXPECT_FALSE(look_after(5s));

    now_ += 3s;
    *run_delay_ += 3s;
    EXPECT_FALSE(look_after(1s));
    EXPECT_TRUE(watch_.suspensions(now_).empty());
    const Instant stopped = now_;
    now_ += 1h;
    *run_delay_ += 3s;
    EXPECT_FALSE(look_after(1s));
    EXPECT_EQ(watch_.suspensions(now_), (std::vector<Interval>{{stopped + look_interval, now_ - 3s}}));
}

TEST_F(Watch, TakesEveryLongPauseForASuspensionWhereTheKernelDoesNotCountWaits) {
    run_delay_.reset();
    begin();
    EXPECT_FALSE(look_after(5s));
    now_ += 3s;
    EXPECT_FALSE(look_after(1s));

    EXPECT_EQ(watch_.suspensions(now_).size(), 1U);
}

TEST_F(Watch, SaysNothingWhileItIsNotServing) {
    activities_.add(ActivityKind::reader, "reader 0").work(Stage::read, 5);
    begin();
    phase_ = RunPhase::finishing;

    EXPECT_FALSE(look_after(60s));
}

TEST_F(Watch, SaysNothingBeforeItBeginsAndAfterItEnds) {
    activities_.add(ActivityKind::reader, "reader 0").work(Stage::read, 5);
    EXPECT_FALSE(look_after(60s));

    begin();
    watch_.end();
    EXPECT_FALSE(look_after(60s));
}

TEST_F(Watch, DoesNotCountTimeInWhichItDidNotRunItself) {
    activities_.add(ActivityKind::reader, "reader 0").work(Stage::read, 5);
    begin();
    EXPECT_FALSE(look_after(2s));

    now_ += 1h;

    EXPECT_FALSE(look_after(2s));
}

TEST_F(Watch, NoticesThatAllWaitForEachOther) {
    activities_.add(ActivityKind::writer, "writer").wait(Stage::gather, 4);
    activities_.add(ActivityKind::device, "device 0").wait(Stage::scatter);
    begin();

    const auto hang = look_after(20s);

    ASSERT_TRUE(hang);
    EXPECT_THAT(hang->what, HasSubstr("all threads are waiting"));
}

TEST_F(Watch, LetsThoseWhoWaitForTheIndexWait) {
    bool is_indexing = true;
    activities_.add(ActivityKind::reader, "reader 0").wait(Stage::read, 5);
    activities_.add(ActivityKind::writer, "writer").work(Stage::write, 4);
    activities_.add(ActivityKind::device, "device 0").wait(Stage::scatter);
    watch_.begin({.timeout = timeout, .devices = 1, .book = &book_, .hosts = {"n07"}, .is_indexing = [&] {
                      return is_indexing;
                  }});
    EXPECT_FALSE(look_after(60s));

    is_indexing = false;

    EXPECT_FALSE(look_after(10s)) << "now they have their time";
    EXPECT_TRUE(look_after(2s));
}

TEST_F(Watch, NoticesAReaderThatHangsBesideTheIndex) {
    activities_.add(ActivityKind::reader, "reader 0").work(Stage::read, 5);
    watch_.begin(
        {.timeout = timeout, .devices = 1, .book = &book_, .hosts = {"n07"}, .is_indexing = [] { return true; }});

    EXPECT_TRUE(look_after(20s));
}

TEST_F(Watch, LetsADeviceTakeItsTimeToLoad) {
    activities_.add(ActivityKind::writer, "writer").wait(Stage::gather, 4);
    begin();

    EXPECT_FALSE(look_after(60s));
}

TEST_F(Watch, CallsARankSilentThatHoldsAChunkUnlessRank0WasGivenUpItself) {
    GrantBook book(4, 2);
    book.granted({.id = 0, .first = 0, .count = 4}, 1);
    HangWatchOptions options{.timeout = timeout, .book = &book, .hosts = {"n07", "n08"}};
    watch_.begin(options);

    const auto silent = look_after(20s);
    options.given_up = [] { return std::optional<std::string>("rank 0 on n07 hangs"); };
    watch_.begin(options);
    const auto given_up = look_after(20s);

    ASSERT_TRUE(silent);
    EXPECT_EQ(silent->where, "rank 1 on n08");
    ASSERT_TRUE(given_up);
    EXPECT_EQ(given_up->where, "rank 0 on n07");
    EXPECT_THAT(given_up->what, HasSubstr("ended the job meanwhile: rank 0 on n07 hangs"));
}

TEST_F(Watch, CallsItselfSilentForNoChunkThatItHolds) {
    book_.granted({.id = 0, .first = 0, .count = 4}, 0);
    begin();

    EXPECT_FALSE(look_after(60s)) << "its own activities tell";
}

TEST_F(Watch, WaitsForARankThatHasNotBegun) {
    GrantBook book(4, 2);
    activities_.add(ActivityKind::writer, "writer").wait(Stage::gather, 4);
    activities_.add(ActivityKind::device, "device 0").wait(Stage::scatter);
    watch_.begin({.timeout = timeout, .devices = 1, .book = &book, .hosts = {"n07", "n08"}});
    EXPECT_FALSE(look_after(60s));

    book.heard(1);

    EXPECT_TRUE(look_after(2s));
}

/// Of a node's two ranks.
class WatchOfTwo : public testing::Test {
protected:
    /// Seconds until the rank at `place` reports a hang; nullopt: none within a minute.
    std::optional<int> seconds_to_a_hang(std::size_t place, const Activities& activities, bool root_beats) {
        HangWatch watch(boards_[place], activities, "n07");
        watch.begin({.timeout = timeout});
        Instant now{};
        for (int second = 0; second < 60; ++second, now += 1s) {
            boards_[0].mine().beat.fetch_add(root_beats ? 1 : 0);
            if (watch.look(now, RunPhase::serving, std::nullopt)) {
                return second;
            }
        }
        return std::nullopt;
    }

    std::deque<RankBoard> boards_ = test::boards_of_node(2);
};

TEST_F(WatchOfTwo, MissesAProcessThatIsNotScheduledUntilItHasEnded) {
    const Activities none;
    EXPECT_EQ(seconds_to_a_hang(0, none, true), std::nullopt) << "it is not watched yet";
    boards_[1].mine().beat.store(1);
    EXPECT_NE(seconds_to_a_hang(0, none, true), std::nullopt);

    boards_[1].mine().ended.store(1);

    EXPECT_EQ(seconds_to_a_hang(0, none, true), std::nullopt);
}

TEST_F(WatchOfTwo, LetsRank0GoFirstIfThatIsWell) {
    Activities activities;
    activities.add(ActivityKind::device, "device 0").work(Stage::compute, 5);

    const auto alone = seconds_to_a_hang(1, activities, false);
    const auto after_root = seconds_to_a_hang(1, activities, true);

    ASSERT_TRUE(alone && after_root);
    EXPECT_GT(*after_root, *alone);
}

/// The same of rank 3, on a node without rank 0.
class WatchOfAnotherNode : public Watch {
protected:
    WatchOfAnotherNode() {
        board_.mine().rank.store(3);
        watch_.begin({.timeout = timeout, .hosts = {"n01"}});
    }

    void hear_root() { board_.mine().root_messages.fetch_add(1); }
};

TEST_F(WatchOfAnotherNode, KnowsEveryChunkThatARankOfItsNodeHeld) {
    constexpr std::uint32_t depth = 3;
    Doorbell bell;
    std::deque<Endpoint> endpoints;
    std::array<std::byte, 1> item{};
    std::uint64_t id = 4;
    for (int device = 0; device < 2; ++device) {
        Endpoint& endpoint = endpoints.emplace_back(depth, bell);
        for (std::uint32_t i = 0; i < depth; ++i, ++id) {
            static_cast<void>(endpoint.request(item));
            endpoint.answer({{id, id, 1}, Clock::now()});
            endpoint.complete_request();
        }
    }
    endpoints[0].complete_delivery();

    note_open_chunk(board_.mine(), endpoints);

    EXPECT_THAT(watch_.chunks_of(board_.mine()), testing::UnorderedElementsAre(5, 6, 7, 8, 9));
}

TEST_F(WatchOfAnotherNode, NoticesThatRank0IsSilent) {
    hear_root();
    EXPECT_FALSE(look_after(10s));
    hear_root();
    EXPECT_FALSE(look_after(13s));  // a heartbeat may be late by the time between two

    const auto hang = look_after(4s);

    ASSERT_TRUE(hang);
    EXPECT_EQ(hang->rank, 0);
    EXPECT_EQ(hang->where, "rank 0 on n01");
    EXPECT_THAT(hang->what, HasSubstr("no heartbeat"));
    EXPECT_THAT(hang->dump, testing::StartsWith("rank 0 on n01: silent for"));
    EXPECT_THAT(hang->dump, HasSubstr("rank 3 on n07"));
}

TEST_F(WatchOfAnotherNode, GivesSignsOfLifeUntilADeviceHangs) {
    Activity& device = activities_.add(ActivityKind::device, "device 0");
    for (int second = 0; second < 20; ++second) {
        device.work(Stage::compute, 5);
        EXPECT_FALSE(look_after(1s));
    }
    EXPECT_GT(board_.mine().heartbeats.load(), 0U);
    EXPECT_TRUE(look_after(20s));
    const std::uint32_t signs = board_.mine().heartbeats.load();

    for (int second = 0; second < 10; ++second) {
        EXPECT_TRUE(look_after(1s));
    }

    EXPECT_EQ(board_.mine().heartbeats.load(), signs);
}

TEST_F(WatchOfAnotherNode, LooksForRank0WhileThatPublishes) {
    hear_root();
    phase_ = RunPhase::finishing;

    EXPECT_TRUE(look_after(20s));
}

TEST_F(WatchOfAnotherNode, ExpectsNothingOfARank0ThatDoesNotServeYetOrHasEnded) {
    EXPECT_FALSE(look_after(60s));

    hear_root();
    EXPECT_FALSE(look_after(10s));
    board_.mine().root_messages.store(0);
    EXPECT_FALSE(look_after(60s));
}

}  // namespace
}  // namespace sluice
