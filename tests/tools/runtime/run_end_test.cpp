#include "tools/runtime/run_end.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr StopCause near_limit{.signal = SIGUSR1, .reason = StopReason::time_limit};
constexpr StopCause announced{.signal = SIGUSR1};
constexpr StopCause terminated{.signal = SIGTERM};
constexpr StopCause drained{.signal = SIGUSR1, .reason = StopReason::drain_request};

/// Of a run of 88 chunks that began at chunk 10.
std::string hint(const StopCause& cause, std::uint64_t committed, const AttemptId& attempt) {
    return stopped_early({.stop = cause}, {.chunks = committed, .all = 88}, 10, attempt).hint;
}

TEST(StoppedEarly, SaysThatASubmittedJobContinuesByItself) {
    const AttemptId second_of_four{.job = "7", .number = 2, .most = 4};
    const std::string by_itself = "nothing to do: the job resumes from there by itself";

    EXPECT_EQ(hint(near_limit, 12, second_of_four), by_itself);
    EXPECT_EQ(hint(announced, 12, second_of_four), by_itself);
    EXPECT_EQ(hint(terminated, 12, second_of_four),
              "unless Slurm has ended the job, it resumes from there by itself; "
              "else `" +
                  program_name() + " submit` does");
}

TEST(StoppedEarly, SaysWhatContinuesAJobWhichDoesNotDoSoByItself) {
    const AttemptId second_of_four{.job = "7", .number = 2, .most = 4};
    const AttemptId last{.job = "7", .number = 4, .most = 4};
    const AttemptId by_hand{.job = "7"};
    const std::string submit = "`" + program_name() + " submit`";

    EXPECT_EQ(hint(near_limit, 12, last), submit + " resumes from there");
    EXPECT_EQ(hint(near_limit, 10, second_of_four), submit + " resumes from there") << "it got no further";
    EXPECT_EQ(hint(drained, 12, second_of_four), submit + " resumes from there");
    EXPECT_EQ(hint(near_limit, 0, second_of_four),
              "nothing is committed yet: " + submit + " starts from the beginning");
    EXPECT_EQ(hint(near_limit, 12, by_hand), "run the same command again: it resumes from there");
    EXPECT_EQ(hint(near_limit, 0, {}), "nothing is committed yet: the same command starts from the beginning");
}

}  // namespace
}  // namespace sluice
