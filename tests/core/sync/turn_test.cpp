#include "core/sync/turn.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <stop_token>
#include <thread>

#include "core/system/node_memory.hpp"

namespace sluice {
namespace {

constexpr std::chrono::hours an_hour{1};

TEST(Turn, IsWaitedForByAnotherProcess) {
    const NodeMemory memory = NodeMemory::for_node(sizeof(Turn));
    Turn& turn = *::new (memory.bytes().data()) Turn;

    const pid_t child = ::fork();
    if (child == 0) {
        turn.wait({}, an_hour);
        ::_exit(7);
    }
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "did not wait";
    turn.give();

    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Turn, MayBeGivenBeforeItIsWaitedFor) {
    Turn turn;
    turn.give();
    turn.wait({}, an_hour);
}

TEST(Turn, IsNotWaitedForLongerThanThat) {
    Turn turn;
    turn.wait({}, std::chrono::milliseconds(1));
}

TEST(Turn, IsNotWaitedForAfterAStop) {
    Turn turn;
    std::jthread waits([&](const std::stop_token& stop) { turn.wait(stop, an_hour); });
    waits.request_stop();
}

}  // namespace
}  // namespace sluice
