#include "core/trace/thread_usage.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/files/paths.hpp"
#include "core/sync/doorbell.hpp"

namespace sluice {
namespace {

TEST(ThreadUsage, CountsTheTimeOnACoreOfOneThreadOnly) {
    ThreadUsage busy;
    ThreadUsage idle;
    std::thread([&busy] {
        const Instant begin = Clock::now();
        while (usage_of_this_thread("", begin).cpu < std::chrono::milliseconds(10)) {
        }
        busy = usage_of_this_thread("busy", begin);
    }).join();
    std::thread([&idle] { idle = usage_of_this_thread("idle", Clock::now()); }).join();

    EXPECT_EQ(busy.name, "busy");
    EXPECT_GE(busy.cpu, std::chrono::milliseconds(10));
    EXPECT_GT(busy.wall.count(), 0);
    EXPECT_LT(idle.cpu, busy.cpu);
}

TEST(ThreadName, IsWhatTheKernelShows) {
    std::string shown;
    std::thread([&] {
        name_this_thread("a name of more than fifteen bytes");
        shown = first_line("/proc/thread-self/comm");
    }).join();

    EXPECT_EQ(shown, "a name of more ");
}

TEST(ThreadUsage, CountsAWait) {
    ThreadUsage before;
    ThreadUsage after;
    std::thread([&] {
        const Instant begin = Clock::now();
        before = usage_of_this_thread("", begin);
        Doorbell bell;
        for (after = before; after.waits == before.waits; after = usage_of_this_thread("", begin)) {
            bell.wait_for(bell.listen(), std::chrono::milliseconds(1));  // no wait if the time is over before it begins
        }
    }).join();

    EXPECT_GT(after.waits, before.waits);
}

}  // namespace
}  // namespace sluice
