// The batch script itself, with programs that play Slurm.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/slurm/stopped_attempt.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string refused = fmt::format("sluice: Slurm has not queued another attempt; \"{} submit\" resumes the run\n",
                                        program_name_of_runs());

TEST(BatchRun, AsksForAnotherAttemptWhileTheJobAllowsItAndTellsWhenSlurmRefuses) {
    const StoppedAttempt requeued;
    EXPECT_EQ(
        requeued.run(
            {{"SLUICE_RESUME", "requeue"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "0"}, {"SLURM_RESTART_COUNT", "1"}}),
        refused);
    EXPECT_THAT(requeued.requests(), HasSubstr("scontrol requeue 7"));

    const StoppedAttempt followed;
    followed.add("sbatch", "echo \"$* as attempt $SLUICE_ATTEMPT\" >>calls; echo invalid qos >&2; exit 1");
    EXPECT_EQ(followed.run({{"SLUICE_RESUME", "dependency"},
                            {"SLUICE_MAX", "2"},
                            {"SLUICE_ATTEMPT", "1"},
                            {"SLUICE_EXPORT", "PATH:UCX_TLS"}}),
              "invalid qos\n" + refused);
    EXPECT_THAT(followed.requests(), HasSubstr("--dependency=afterany:7"));
    EXPECT_THAT(followed.requests(), HasSubstr(" --export=PATH,UCX_TLS "));
    EXPECT_THAT(followed.requests(), HasSubstr(" as attempt 2\n"));
    EXPECT_THAT(followed.requests(), HasSubstr(" --begin=now ")) << "not when the user's options had the first begin";
    EXPECT_THAT(followed.requests(), HasSubstr("--qos=high --job-name=a  'b --parsable"));
}

TEST(BatchRun, DoesNotComplainWhereSlurmItselfHasQueuedTheJobAgain) {
    const auto complains = [](const std::string& restarts_known, const std::string& restarts_made) {
        const StoppedAttempt after_a_nodes_loss;  // while the script runs, squeue says COMPLETING
        after_a_nodes_loss.add(
            "scontrol", "case $* in *show*) echo 'JobId=7 JobName=a Requeue=1 Restarts=" + restarts_made +
                            " BatchFlag=1'; exit ;; esac; echo 'Job is pending execution for job 7' >&2; exit 1");
        return after_a_nodes_loss.run({{"SLUICE_RESUME", "requeue"},
                                       {"SLUICE_MAX", "9"},
                                       {"SLUICE_ATTEMPT", "0"},
                                       {"SLURM_RESTART_COUNT", restarts_known}});
    };
    const std::string none_follows = "Slurm has not queued another attempt";

    EXPECT_THAT(complains("0", "1"), HasSubstr("Job is pending execution for job 7\n"));
    EXPECT_THAT(complains("0", "1"), Not(HasSubstr(none_follows)));
    EXPECT_THAT(complains("3", "4"), Not(HasSubstr(none_follows)));
    EXPECT_THAT(complains("0", "0"), HasSubstr(none_follows));
    EXPECT_THAT(complains("4", "4"), HasSubstr(none_follows));
}

const std::map<std::string, std::string> to_requeue{
    {"SLUICE_RESUME", "requeue"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "0"}};
const std::map<std::string, std::string> to_follow{
    {"SLUICE_RESUME", "dependency"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "0"}};

TEST(BatchRun, AsksAgainWithGrowingPausesWhileTheControllerIsAway) {
    for (const char* problem : {"slurm_update error: Unable to contact slurm controller (connect failure)",
                                "Unexpected message received for job 7", "Socket timed out on send/recv operation",
                                "connect: Connection refused", "Resource temporarily unavailable"}) {
        const HurriedAttempt attempt;
        attempt.add("scontrol", away_at_first(4, problem, "exit 0"));

        EXPECT_EQ(
            attempt.run(to_requeue),
            fmt::format("sluice: Slurm does not answer ({}); asking again, for half an hour, for another attempt\n"
                        "sluice: Slurm answers again\n",
                        problem));
        EXPECT_EQ(
            attempt.requests(),
            "scontrol\npause 5\nscontrol\npause 10\nscontrol\npause 15\nscontrol\npause 15\nscontrol\npause 120\n");
    }
}

TEST(BatchRun, KnowsWhatSlurmsProgramsSayOfAControllerThatIsAway) {
    const std::vector<std::string> problems{"Unable to contact slurm controller",
                                            "Unexpected message received",
                                            "Socket timed out",
                                            "Zero Bytes were sent",
                                            "Communication connection failure",
                                            "Message send failure",
                                            "Message receive failure",
                                            "connect: Connection refused",
                                            "connect: Connection reset",
                                            "connect: Connection timed out",
                                            "connect: No route to host",
                                            "Network is unreachable",
                                            "it is in standby mode",
                                            "Resource temporarily unavailable",
                                            "Temporary failure in name resolution"};
    const HurriedAttempt attempt;
    std::string answers = "echo >>calls; case $(wc -l <calls) in ";
    for (std::size_t i = 0; i < problems.size(); ++i) {
        answers += fmt::format("{}) echo '{}' >&2; exit 1 ;; ", 2 * i + 1, problems[i]);
    }
    attempt.add("scontrol", answers + "esac");

    const std::string log = attempt.run(to_requeue);

    for (const std::string& problem : problems) {
        EXPECT_THAT(log, HasSubstr("sluice: Slurm does not answer (" + problem + "); asking again"));
    }
    EXPECT_THAT(log, testing::EndsWith("sluice: Slurm answers again\n"));
}

double seconds_paused(const std::string& requests) {
    std::istringstream lines(requests);
    double sum = 0;
    for (std::string word; lines >> word;) {
        if (double seconds = 0; word == "pause" && lines >> seconds) {
            sum += seconds;
        }
    }
    return sum;
}

TEST(BatchRun, TellsWhatToDoWhenTheControllerStaysAway) {
    for (const auto& variables : {to_requeue, to_follow}) {
        const HurriedAttempt attempt;
        for (const char* program : {"scontrol", "sbatch", "squeue"}) {
            attempt.add(program, "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1");
        }

        const std::string log = attempt.run(variables);

        EXPECT_THAT(log, HasSubstr("sluice: gave up asking Slurm for another attempt: Unable to contact slurm "
                                   "controller (connect failure); if squeue shows no job, once Slurm answers, \"" +
                                   program_name_of_runs() + " submit\" resumes the run\n"));
        EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
        EXPECT_NEAR(seconds_paused(attempt.requests()), 1800, 30) << "half an hour, as the log says";
    }
    const HurriedAttempt without_ranks;
    without_ranks.add("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1");
    EXPECT_EQ(without_ranks.run_to_end({{"SLUICE_RESUME", "manual"}}).exit_code, 69);
}

TEST(BatchRun, TellsWhatToDoWhenSlurmEndsTheJobWhileItWaits) {
    const HurriedAttempt attempt;
    attempt.add("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1");
    attempt.add("sleep", "kill -TERM $PPID");

    EXPECT_THAT(attempt.run(to_requeue),
                HasSubstr("sluice: Slurm ends the job, perhaps to queue it again; if squeue shows no job, once Slurm "
                          "answers, \"" +
                          program_name_of_runs() + " submit\" resumes the run\n"));
}

TEST(BatchRun, SubmitsOneFollowerAloneWhereOnlyTheAnswerWasLost) {
    const HurriedAttempt lost;  // the answer, of a job that was accepted
    lost.add("sbatch",
             "echo sbatch >>calls; echo 'sbatch: error: Batch job submission failed: Socket timed out on "
             "send/recv operation' >&2; exit 1");
    lost.add("squeue", away_at_first(1, "Unable to contact slurm controller",
                                     "echo '8 afterany:17(unfulfilled)'; echo '12 afterany:71(unfulfilled)'; "
                                     "echo '9 afterany:7(unfulfilled)'; echo '10 (null)'"));

    EXPECT_THAT(lost.run(to_follow), HasSubstr("Slurm answers again"));
    EXPECT_EQ(lost.requests(), "sbatch\npause 5\npause 0\nsqueue\npause 10\npause 0\nsqueue\n");
    EXPECT_EQ(lost.follower(), "9");

    const HurriedAttempt never_sent;
    never_sent.add("sbatch", away_at_first(1, "Unable to contact slurm controller", "echo warning >&2; echo 11"));
    never_sent.add("squeue", "echo '8 afterany:17(unfulfilled)'");

    EXPECT_THAT(never_sent.run(to_follow), HasSubstr("Slurm answers again\nwarning\n"));
    EXPECT_EQ(never_sent.requests(), "sbatch\npause 5\npause 0\npause 10\nsbatch\n");
    EXPECT_EQ(never_sent.follower(), "11");
}

TEST(BatchRun, SaysInTheLogThatNoAttemptFollowsTheLastOneAllowed) {
    const StoppedAttempt requeued;
    EXPECT_THAT(
        requeued.run(
            {{"SLUICE_RESUME", "requeue"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "0"}, {"SLURM_RESTART_COUNT", "2"}}),
        HasSubstr("warning[W-SLM-161]: the output is not complete, and no attempt follows attempt 3: "
                  "slurm.resume.max = 2 is used up"));
    EXPECT_THAT(requeued.requests(), IsEmpty());

    const StoppedAttempt followed;
    EXPECT_THAT(followed.run({{"SLUICE_RESUME", "dependency"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "2"}}),
                HasSubstr("attempt 3: slurm.resume.max = 2"));
    EXPECT_THAT(followed.requests(), IsEmpty());
}

TEST(BatchRun, SaysNothingOfAttemptsWhereNoneWereAskedFor) {
    const StoppedAttempt alone;

    EXPECT_EQ(alone.run({{"SLUICE_RESUME", "manual"}, {"SLUICE_MAX", "3"}, {"SLUICE_ATTEMPT", "0"}}), "");
    EXPECT_THAT(alone.requests(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
