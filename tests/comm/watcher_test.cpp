#include "comm/watcher.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

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

}  // namespace
}  // namespace sluice::test
