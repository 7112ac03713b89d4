#include "slurm/stop_reason.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "slurm/time_limit.hpp"

namespace sluice {
namespace {

constexpr int killed = 137;

RunStatus ended_with(int code, bool again, int signal) {
    return {.job = "7", .restarts = 1, .end = RunEnd{.code = code, .again = again, .signal = signal, .text = {}}};
}

const AttemptId attempt{.job = "7", .restarts = 1};

TEST(StopReason, IsWhatTheStatusSaysWhateverTheLauncherReturns) {
    EXPECT_EQ(stop_reason(ended_with(0, false, 0), attempt, {.code = 0}), (ScriptEnd{0, false}));
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGUSR1), attempt, {.code = 0}), (ScriptEnd{75, true}));
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGUSR1), attempt, {.code = killed}), (ScriptEnd{75, true}));
    EXPECT_EQ(stop_reason(ended_with(75, false, SIGUSR1), attempt, {.code = 0}), (ScriptEnd{75, false}));
    EXPECT_EQ(stop_reason(ended_with(74, false, 0), attempt, {.code = killed}), (ScriptEnd{74, false}));
}

TEST(StopReason, OfATermThatFollowedARanksDeathIsThatDeath) {
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGTERM), attempt, {.code = killed}), (ScriptEnd{70, false}));
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGTERM), attempt, {.code = 75}),
              (ScriptEnd{70, false}));  // rank 0 itself gave up
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGTERM), attempt, {.code = 0}), (ScriptEnd{75, true}));
}

TEST(StopReason, OfAnAttemptThatCouldNotTellIsTheLaunchersOrInternal) {
    const RunStatus unfinished{.job = "7", .restarts = 1};

    for (const std::optional<RunStatus>& status : {std::optional<RunStatus>(), std::optional(unfinished)}) {
        EXPECT_EQ(stop_reason(status, attempt, {.code = killed}), (ScriptEnd{70, false}));
        EXPECT_EQ(stop_reason(status, attempt, {.code = 0}), (ScriptEnd{70, false}));
        for (const int of_sluice : {64, 66, 84}) {
            EXPECT_EQ(stop_reason(status, attempt, {.code = of_sluice}), (ScriptEnd{of_sluice, false}));
        }
        EXPECT_EQ(stop_reason(status, attempt, {.code = 63}), (ScriptEnd{70, false}));
        EXPECT_EQ(stop_reason(status, attempt, {.code = 85}), (ScriptEnd{70, false}));
        EXPECT_EQ(stop_reason(status, attempt, {.code = 143}), (ScriptEnd{70, false}));
    }
}

TEST(StopReason, OfAnAttemptThatDiedOnceItsOutputWasCompleteIsThatItIs) {
    const RunStatus unfinished{.job = "7", .restarts = 1};

    EXPECT_EQ(stop_reason(unfinished, attempt, {.code = killed, .published = true}), (ScriptEnd{0, false}));
    EXPECT_EQ(stop_reason(unfinished, attempt, {.code = 70, .published = true}), (ScriptEnd{0, false}));
    EXPECT_EQ(stop_reason(std::nullopt, attempt, {.code = 73, .published = true}), (ScriptEnd{73, false}))
        << "another job's output";
}

TEST(StopReason, OfALauncherThatIsNotThereIsThatSomethingIsMissing) {
    const RunStatus of_an_earlier_attempt{.job = "7", .restarts = 0};
    const RunStatus of_this_one{.job = "7", .restarts = 1};

    EXPECT_EQ(stop_reason(std::nullopt, attempt, {.code = 127}), (ScriptEnd{69, false}));
    EXPECT_EQ(stop_reason(of_an_earlier_attempt, attempt, {.code = 127}), (ScriptEnd{69, false}));
    EXPECT_EQ(stop_reason(of_this_one, attempt, {.code = 127}), (ScriptEnd{70, false})) << "a rank's own code";
}

TEST(StopReason, OfAnAttemptStoppedBeforeItsFirstChunkIsThatStop) {
    const RunStatus preparing{.job = "7", .restarts = 1};
    RunStatus running = preparing;
    running.state = RunState::running;
    constexpr int terminated = 128 + SIGTERM;

    for (const int code : {terminated, killed, 128 + SIGUSR1}) {
        EXPECT_EQ(stop_reason(preparing, attempt, {.code = code, .drained = true}), (ScriptEnd{75, false}));
        EXPECT_EQ(stop_reason(std::nullopt, attempt, {.code = code, .drained = true}), (ScriptEnd{75, false}));
        EXPECT_EQ(stop_reason(running, attempt, {.code = code, .drained = true}), (ScriptEnd{70, false}));
        EXPECT_EQ(stop_reason(preparing, attempt, {.code = code, .drained = false}),
                  (ScriptEnd{code == 128 + SIGUSR1 ? 75 : 70, false}));
    }
    EXPECT_EQ(stop_reason(preparing, attempt, {.code = 128 + SIGSEGV, .drained = true}), (ScriptEnd{70, false}));
    EXPECT_EQ(stop_reason(preparing, attempt, {.code = 66, .drained = true}), (ScriptEnd{66, false}));
}

TEST(StopReason, OfAnotherAttemptDoesNotCount) {
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGUSR1), {.job = "7", .restarts = 2}, {.code = killed}),
              (ScriptEnd{70, false}));
    EXPECT_EQ(stop_reason(ended_with(75, true, SIGUSR1), {.job = "8", .restarts = 1}, {.code = killed}),
              (ScriptEnd{70, false}));
}

/// The environment of an attempt that the batch script has started.
class ScriptEnvironment {
public:
    ScriptEnvironment(const char* mode, const char* most, const char* earlier_jobs, const char* restarts) {
        ::setenv("SLURM_JOB_ID", "7", 1);
        ::setenv("SLUICE_RESUME", mode, 1);
        ::setenv("SLUICE_MAX", most, 1);
        ::setenv("SLUICE_ATTEMPT", earlier_jobs, 1);
        ::setenv("SLURM_RESTART_COUNT", restarts, 1);
    }
    ScriptEnvironment(const ScriptEnvironment&) = delete;
    ScriptEnvironment& operator=(const ScriptEnvironment&) = delete;
    ~ScriptEnvironment() {
        for (const char* name :
             {"SLURM_JOB_ID", "SLUICE_RESUME", "SLUICE_MAX", "SLUICE_ATTEMPT", "SLURM_RESTART_COUNT"}) {
            ::unsetenv(name);
        }
    }
};

TEST(ThisAttempt, IsNumberedAlikeInOneJobAndInSeveral) {
    {
        const ScriptEnvironment requeued("requeue", "3", "0", "2");
        EXPECT_EQ(this_attempt().number, 3U);
        EXPECT_EQ(this_attempt().most, 4U);
    }
    {
        const ScriptEnvironment following("dependency", "3", "2", "0");
        EXPECT_EQ(this_attempt().number, 3U);
        EXPECT_EQ(this_attempt().most, 4U);
    }
    {
        const ScriptEnvironment alone("manual", "3", "0", "0");
        EXPECT_EQ(this_attempt().most, 1U);
    }
    EXPECT_EQ(this_attempt().number, 1U);
    EXPECT_EQ(this_attempt().most, std::nullopt);
}

TEST(StopReason, LetsNoMoreAttemptsFollowThanTheJobAllows) {
    const auto reason = [](std::uint64_t number, std::uint64_t most) {
        return stop_reason(ended_with(75, true, SIGUSR1), {.job = "7", .restarts = 1, .number = number, .most = most},
                           {});
    };

    EXPECT_EQ(reason(3, 4), (ScriptEnd{75, true, false}));
    EXPECT_EQ(reason(4, 4), (ScriptEnd{75, false, true}));
    EXPECT_EQ(reason(5, 4), (ScriptEnd{75, false, true})) << "Slurm itself has requeued the job after a node's loss";
    EXPECT_EQ(reason(1, 1), (ScriptEnd{75, false, false})) << "none was asked for";
}

TEST(TimeLeft, IsReadAsSqueuePrintsIt) {
    using std::chrono::seconds;
    EXPECT_EQ(parse_time_left("0:59\n"), seconds(59));
    EXPECT_EQ(parse_time_left("3:04"), seconds(184));
    EXPECT_EQ(parse_time_left("2:03:04"), seconds(7'384));
    EXPECT_EQ(parse_time_left("1-02:03:04"), seconds(93'784));
    for (const char* text :
         {"", "UNLIMITED", "INVALID", "NOT_SET", "5", "1:2:3:4", "-1:00", "a:b", "1-", ":", "1:", "1-1:-5"}) {
        EXPECT_EQ(parse_time_left(text), std::nullopt) << text;
    }
}

TEST(TimeLimit, IsNearWhenOneMoreChunkWouldPassIt) {
    using Seconds = std::chrono::duration<double>;
    EXPECT_FALSE(is_too_late(Seconds(100), Seconds(1)));
    EXPECT_FALSE(is_too_late(Seconds(100), Seconds(59)));
    EXPECT_TRUE(is_too_late(Seconds(100), Seconds(61)));
    EXPECT_TRUE(is_too_late(Seconds(9), Seconds(0)));
    EXPECT_TRUE(is_too_late(Seconds(-5), Seconds(0)));
    EXPECT_LT(end_of_chunks(Instant(std::chrono::seconds(100))), Instant(std::chrono::seconds(100)));
    EXPECT_FALSE(is_nearly_too_late(Seconds(100), Seconds(49)));
    EXPECT_TRUE(is_nearly_too_late(Seconds(100), Seconds(51)));
}

}  // namespace
}  // namespace sluice
