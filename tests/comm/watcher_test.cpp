#include "comm/watcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "tests/comm/node_boards.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

struct Rank {
    int number = 1;
    RunPhase phase = RunPhase::serving;
};

/// In a process of its own, which meets `signals` one after the other, which end it. Rank 0 has not served it yet.
[[noreturn]] void meet(const Rank& rank, const std::vector<int>& signals) {
    block_signals();
    RankBoard board;
    board.mine().rank.store(rank.number);
    Doorbell bell;
    StopRequest stop(bell);
    stop.enter(rank.phase);
    Activities activities;
    HangWatch hangs(board, activities, "n1");
    ShutdownHook shutdown_hook;
    shutdown_hook.set_stop_note(
        [&](const ErrorText& text) { std::fprintf(stderr, "noted: %s, %d\n", text.what.c_str(), stop.signal()); });
    shutdown_hook.set_notes({.lost_rank = {}, .end = [&](ExitCode, const ErrorText& text) {
                                 std::fprintf(stderr, "end noted: %s, %d\n", text.what.c_str(), stop.signal());
                             }});
    const Watcher watcher(board, stop, hangs, shutdown_hook, "n1");
    for (const int signal : signals) {
        ::kill(::getpid(), signal);
        static_cast<void>(eventually([&] { return stop.signal() != 0; }));
    }
    static_cast<void>(eventually([] { return false; }));
    ::_exit(0);
}

class WatcherDeathTest : public testing::Test {
protected:
    WatcherDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(WatcherDeathTest, EndsARankWhoseRootWasStoppedBeforeItServed) {
    EXPECT_EXIT(meet({}, {SIGUSR1, SIGTERM}), testing::ExitedWithCode(75), "stopped by SIGTERM at once");
    EXPECT_EXIT(meet({.phase = RunPhase::preparing}, {SIGUSR1, SIGTERM}), testing::ExitedWithCode(75),
                "stopped by SIGTERM before the first chunk");
}

TEST_F(WatcherDeathTest, NotesThatRankZeroWasStoppedBeforeItsFirstChunk) {
    EXPECT_EXIT(meet({.number = 0, .phase = RunPhase::preparing}, {SIGUSR1}), testing::ExitedWithCode(75),
                "noted: stopped by SIGUSR1 before the first chunk, 10");
}

/// The run ends beside it from then on, and may take the folder of the note away.
TEST_F(WatcherDeathTest, NotesAStopBeforeItAsksForIt) {
    EXPECT_EXIT(meet({}, {SIGUSR1, SIGTERM}), testing::ExitedWithCode(75), "end noted: asked to stop by SIGUSR1, 0");
}

/// Three ranks of a node, whose board processes share: rank 0, one that is killed, and one that looks late.
class WatcherOfANodeDeathTest : public testing::Test {
protected:
    WatcherOfANodeDeathTest() { testing::FLAGS_gtest_death_test_style = "fast"; }  // a fork, which shares the board

    RankBoard& root() { return boards_[0]; }
    RankBoard& killed() { return boards_[1]; }
    RankBoard& late() { return boards_[2]; }

    /// In a process of its own, as the rank of `board`, until its watcher ends it.
    [[noreturn]] static void watch(RankBoard& board) {
        block_signals();
        board.mine().pid.store(::getpid());
        Doorbell bell;
        StopRequest stop(bell);
        stop.enter(RunPhase::serving);
        Activities activities;
        activities.add(ActivityKind::device, "device 0").work(Stage::compute, 7);
        HangWatch hangs(board, activities, "n1");
        hangs.begin({.timeout = std::chrono::milliseconds(1)});
        ShutdownHook shutdown_hook;
        shutdown_hook.set_notes({.lost_rank =
                                     [](int rank, const std::string&, const std::vector<std::uint64_t>&) {
                                         std::fprintf(stderr, "rank %d is noted as lost\n", rank);
                                     },
                                 .end = {}});
        const Watcher watcher(board, stop, hangs, shutdown_hook, "n1");
        static_cast<void>(eventually([] { return false; }));
        ::_exit(0);
    }

private:
    std::deque<RankBoard> boards_ = boards_of_node(3);
};

/// The number of a process that is gone.
pid_t gone() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    return child;
}

TEST_F(WatcherOfANodeDeathTest, TakesNobodyForDeadWhoHasEndedAfterAnothersDeath) {
    killed().mine().pid.store(gone());
    EXPECT_EXIT(watch(root()), testing::ExitedWithCode(70), "rank 1 on n1: died(.|\n)*rank 1 is noted as lost");
    EXPECT_EQ(root().mine().code.load(), ExitCode::internal);
    root().mine().pid.store(gone());

    EXPECT_EXIT(watch(late()), testing::ExitedWithCode(70), testing::Not(testing::HasSubstr("noted as lost")));
}

TEST_F(WatcherOfANodeDeathTest, EndsAsRankZeroDoesAfterAHangThatAnotherHasTold) {
    static_cast<void>(killed().claim_message());
    EXPECT_EXIT(watch(root()), testing::ExitedWithCode(76), testing::Not(testing::HasSubstr("noted as lost")));
    root().mine().pid.store(gone());

    EXPECT_EXIT(watch(late()), testing::ExitedWithCode(76), testing::Not(testing::HasSubstr("noted as lost")));
}

}  // namespace
}  // namespace sluice::test
