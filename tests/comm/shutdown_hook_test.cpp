#include "comm/shutdown_hook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(ShutdownHook, RunsItsActionOnceWithCodeAndReason) {
    std::vector<std::pair<ExitCode, std::string>> ends;
    ShutdownHook hook;
    hook.set([&](ExitCode code, const ErrorText& reason) { ends.emplace_back(code, reason.id); });

    hook.run(ExitCode::internal, {.id = "E-RUN-001"}, 60s);
    hook.run(ExitCode::communication, {.id = "E-RUN-076"}, 60s);

    EXPECT_THAT(ends, ElementsAre(std::pair(ExitCode::internal, "E-RUN-001")));
}

TEST(ShutdownHook, RunsNothingOnceItIsCleared) {
    int times = 0;
    ShutdownHook hook;
    hook.set([&](ExitCode, const ErrorText&) { ++times; });
    hook.clear();

    hook.run(ExitCode::internal, {}, 60s);

    EXPECT_EQ(times, 0);
}

TEST(ShutdownHook, SurvivesAnActionThatFails) {
    int times = 0;
    ShutdownHook hook;
    hook.set([&](ExitCode, const ErrorText&) {
        ++times;
        throw std::runtime_error("no space");
    });

    EXPECT_NO_THROW(hook.run(ExitCode::internal, {}, 60s));
    EXPECT_NO_THROW(hook.clear());
    EXPECT_EQ(times, 1);
}

TEST(ShutdownHook, IsNotHeldUpByAnActionThatClearWaitsFor) {
    std::promise<void> release;
    std::atomic<bool> is_done = false;
    ShutdownHook hook;
    hook.set([&, wait = release.get_future().share()](ExitCode, const ErrorText&) {
        wait.wait();
        is_done = true;
    });

    hook.run(ExitCode::internal, {}, 1ms);

    EXPECT_FALSE(is_done);
    release.set_value();
    hook.clear();
    EXPECT_TRUE(is_done);
}

TEST(ShutdownHook, RecordsEndsWhereNotesAreSet) {
    std::vector<std::uint64_t> lost;
    ExitCode code = ExitCode::ok;
    std::string stop;
    ShutdownHook hook;
    hook.note_end(ExitCode::internal, {});  // none is set
    hook.set_notes(
        {.lost_rank = [&](int, const std::string&, const std::vector<std::uint64_t>& chunks) { lost = chunks; },
         .end = [&](ExitCode ended_with, const ErrorText&) { code = ended_with; }});
    hook.set_stop_note([&](const ErrorText& text) { stop = text.id; });

    hook.note_lost_rank(3, "died", {7, 9});
    hook.note_end(ExitCode::stopped_early, {});
    hook.note_stop({.id = "E-RUN-075"});

    EXPECT_THAT(lost, ElementsAre(7, 9));
    EXPECT_EQ(code, ExitCode::stopped_early);
    EXPECT_EQ(stop, "E-RUN-075");
}

}  // namespace
}  // namespace sluice
