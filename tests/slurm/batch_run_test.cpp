// The batch script itself, with programs that play Slurm.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "slurm/batch_script.hpp"
#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The script in Slurm's job 7, whose ranks stop early in good order.
class StoppedAttempt {
public:
    StoppedAttempt() : slurm_(FakePrograms::Others::seen) {
        create_own_folder(run_folder());
        slurm_.add("srun", "exit 75");
        for (const char* program : {"scontrol", "sbatch"}) {
            slurm_.add(program, std::string("echo ") + program + " \"$@\" >>'" + calls().native() + "'; exit 1");
        }
        slurm_.add("squeue", "echo COMPLETING");
        slurm_.add("sinfo", "echo 1");
        write_file(run_folder() / "script.sh", std::string(batch_text()));
        write_file(run_folder() / "options", "--qos=high\n--job-name=a  'b");
    }

    void add(const std::string& program, const std::string& body) const { slurm_.add(program, body); }

    /// Its stderr; expects 75.
    [[nodiscard]] std::string run(const std::map<std::string, std::string>& variables) const {
        const ProcessResult result = run_to_end(variables);
        EXPECT_EQ(result.exit_code, 75) << result.err;
        return result.err;
    }

    /// `variables` beside what the script gets from every job.
    [[nodiscard]] ProcessResult run_to_end(std::map<std::string, std::string> variables) const {
        const RunStatus status{
            .job = "7",
            .restarts = std::strtoull(variables["SLURM_RESTART_COUNT"].c_str(), nullptr, 10),
            .end = RunEnd{.code = 75, .again = true, .signal = SIGUSR1, .text = {}},
        };
        EXPECT_EQ(write_run_status(run_folder() / "status.json", status), 0);
        variables.insert({{"LC_ALL", "C"},  // bash complains of one that is not installed
                          {"SLURM_JOB_ID", "7"},
                          {"SLURM_JOB_NUM_NODES", "1"},
                          {"SLURM_JOB_NODELIST", "n0"},
                          {"SLURM_JOB_CPUS_PER_NODE", "8"},
                          {"SLUICE_BIN", launch_words(0, {}).front()},
                          {"SLUICE_PLAN", (run_folder() / "plan.toml").native()},
                          {"SLUICE_SCRIPT", (run_folder() / "script.sh").native()},
                          {"SLUICE_LAUNCHER", "srun"},
                          {"SLUICE_MPI", "pmix"},
                          {"SLUICE_RANKS", "1"},
                          {"SLUICE_EXPORT", "PATH"}});
        std::vector<std::string> words{"/usr/bin/env"};
        for (const auto& [name, value] : variables) {
            words.push_back(name + "=" + value);
        }
        words.insert(words.end(), {"bash", "script.sh"});
        return Process(words, {.folder = run_folder()}).wait();
    }

    /// What the script has asked of Slurm for another attempt.
    [[nodiscard]] std::string requests() const {
        return std::filesystem::exists(calls()) ? contents(calls()) : std::string();
    }

    /// The job that is to continue, as far as the script has recorded one.
    [[nodiscard]] std::string follower() const {
        return read_submission(run_folder() / "submitted.json").value_or(Submission{}).job;
    }

private:
    [[nodiscard]] std::filesystem::path run_folder() const { return folder_.path() / "labels.csv.sluice"; }
    [[nodiscard]] std::filesystem::path calls() const { return run_folder() / "calls"; }

    TemporaryFolder folder_;
    FakePrograms slurm_;
};

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
    EXPECT_EQ(followed.run({{"SLUICE_RESUME", "dependency"}, {"SLUICE_MAX", "2"}, {"SLUICE_ATTEMPT", "1"}}), refused);
    EXPECT_THAT(followed.requests(), HasSubstr("--dependency=afterany:7"));
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

    EXPECT_THAT(complains("0", "1"), Not(HasSubstr(none_follows)));
    EXPECT_THAT(complains("3", "4"), Not(HasSubstr(none_follows)));
    EXPECT_THAT(complains("0", "0"), HasSubstr(none_follows));
    EXPECT_THAT(complains("4", "4"), HasSubstr(none_follows));
}

/// A program of Slurm's that says `problem` at its first `times` calls, then does `body`.
std::string away_at_first(int times, const std::string& problem, const std::string& body) {
    return fmt::format(
        "echo \"$0\" | sed 's,.*/,,' >>calls; [ $(grep -c ${{0##*/}} calls) -gt {} ] || {{ echo '{}' >&2; exit 1; }}; "
        "{}",
        times, problem, body);
}

/// An attempt whose script does not really pause.
class HurriedAttempt : public StoppedAttempt {
public:
    HurriedAttempt() { add("sleep", "echo pause $1 >>calls"); }
};

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
    }
}

TEST(BatchRun, StartsTheRanksOnceTheControllerIsBack) {
    const std::string away = "Unable to contact slurm controller (connect failure)";
    const HurriedAttempt attempt;
    attempt.add("sinfo", away_at_first(1, away, "echo 1"));
    attempt.add("srun", away_at_first(1, away, "exit 75") + "; exit 1");
    attempt.add("scontrol",
                "echo $1 >>calls; [ $(grep -c ping calls) -gt 2 ] && is=UP; "
                "echo Slurmctld\\(primary\\) at n7 is ${is:-DOWN}");

    const std::string log = attempt.run({{"SLUICE_RESUME", "manual"}});

    EXPECT_THAT(log, HasSubstr("sluice: Slurm does not answer (" + away +
                               "); asking again, for half an hour, to start the ranks\n"));
    EXPECT_EQ(attempt.requests(), "sinfo\npause 5\nsinfo\nsrun\nping\nping\npause 5\nping\nsrun\n");
}

TEST(BatchRun, DoesNotStartRanksAgainThatSlurmRefuses) {
    const HurriedAttempt attempt;
    attempt.add("srun", "echo srun >>calls; exit 1");
    attempt.add("scontrol", "echo 'Slurmctld(primary) at n7 is DOWN'; echo 'Slurmctld(backup) at n8 is UP'");

    static_cast<void>(attempt.run({{"SLUICE_RESUME", "manual"}}));

    EXPECT_EQ(attempt.requests(), "srun\n");
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
    lost.add("squeue", "echo '8 afterany:17(unfulfilled)'; echo '9 afterany:7(unfulfilled)'; echo '10 (null)'");

    EXPECT_THAT(lost.run(to_follow), HasSubstr("Slurm answers again"));
    EXPECT_EQ(lost.requests(), "sbatch\npause 5\npause 0\n");
    EXPECT_EQ(lost.follower(), "9");

    const HurriedAttempt never_sent;
    never_sent.add("sbatch", away_at_first(1, "Unable to contact slurm controller", "echo warning >&2; echo 11"));
    never_sent.add("squeue", "echo '8 afterany:17(unfulfilled)'");

    EXPECT_THAT(never_sent.run(to_follow), HasSubstr("Slurm answers again"));
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

TEST(BatchRun, LeavesTheDaemonsOfMpirunAllCpus) {
    const StoppedAttempt alone;
    for (const char* launcher : {"srun", "mpirun"}) {
        alone.add(launcher, std::string("echo ") + launcher + " ${SRUN_CPUS_PER_TASK:-all} >>calls; exit 75");
    }
    const std::map<std::string, std::string> attempt{{"SLUICE_RESUME", "manual"}, {"SLURM_CPUS_PER_TASK", "2"}};

    for (const char* launcher : {"srun", "mpirun"}) {
        std::map<std::string, std::string> variables = attempt;
        variables.insert({"SLUICE_LAUNCHER", launcher});
        EXPECT_EQ(alone.run(variables), "");
    }

    EXPECT_EQ(alone.requests(), "srun 2\nmpirun all\n");
}

/// What a rank gets on nodes with `threads` in a core.
std::string cpus_of_a_rank(const std::string& threads, std::map<std::string, std::string> variables) {
    const StoppedAttempt attempt;
    attempt.add("sinfo", "echo '" + threads + "'");
    attempt.add("srun", "echo $SRUN_CPUS_PER_TASK >>calls; exit 75");
    variables.insert({"SLUICE_RESUME", "manual"});
    EXPECT_EQ(attempt.run(std::move(variables)), "");
    return attempt.requests();
}

TEST(BatchRun, GivesARankAnEvenShareOfTheSmallestNode) {
    EXPECT_EQ(cpus_of_a_rank("1", {{"SLURM_JOB_CPUS_PER_NODE", "16(x2),9,12(x3)"}, {"SLUICE_RANKS", "3"}}), "3\n");
    EXPECT_EQ(cpus_of_a_rank("1", {{"SLURM_JOB_CPUS_PER_NODE", "2"}, {"SLUICE_RANKS", "3"}}), "1\n");
}

TEST(BatchRun, AsksForNoMoreCoresThanThereAre) {
    const std::map<std::string, std::string> five{{"SLURM_JOB_CPUS_PER_NODE", "16"}, {"SLUICE_RANKS", "5"}};

    EXPECT_EQ(cpus_of_a_rank("1", five), "3\n");
    EXPECT_EQ(cpus_of_a_rank("2", five), "2\n");
    EXPECT_EQ(cpus_of_a_rank("2\n1", five), "2\n");
    EXPECT_EQ(cpus_of_a_rank("unknown", five), "3\n");
    EXPECT_EQ(cpus_of_a_rank("2", {{"SLURM_JOB_CPUS_PER_NODE", "16"}, {"SLUICE_RANKS", "12"}}), "1\n");

    EXPECT_EQ(cpus_of_a_rank("2", {{"SLURM_JOB_CPUS_PER_NODE", "6"}, {"SLUICE_RANKS", "2"}}), "2\n");
    // Where the job uses one thread of each core, its CPUs are cores.
    const std::string one_thread = "SLURM_THREADS_PER_CORE";
    EXPECT_EQ(cpus_of_a_rank("2", {{"SLURM_JOB_CPUS_PER_NODE", "6"}, {"SLUICE_RANKS", "2"}, {one_thread, "1"}}), "3\n");

    std::map<std::string, std::string> asked{{"SLURM_JOB_CPUS_PER_NODE", "10"}, {"SLUICE_RANKS", "3"}};
    asked.insert({"SLURM_CPUS_PER_TASK", "3"});
    EXPECT_EQ(cpus_of_a_rank("2", asked), "2\n");
    asked["SLURM_JOB_CPUS_PER_NODE"] = "12";
    EXPECT_EQ(cpus_of_a_rank("2", asked), "3\n");
}

TEST(BatchRun, SaysThatItsNodeLacksTheProgram) {
    const StoppedAttempt attempt;
    attempt.add("srun", "exit 2");

    const ProcessResult result = attempt.run_to_end({{"SLUICE_BIN", "/absent/sluice"}, {"SLUICE_RESUME", "manual"}});

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.err, HasSubstr("sluice: /absent/sluice cannot be started on this node: it has to lie at the "));
}

TEST(BatchRun, SaysNothingOfAttemptsWhereNoneWereAskedFor) {
    const StoppedAttempt alone;

    EXPECT_EQ(alone.run({{"SLUICE_RESUME", "manual"}, {"SLUICE_MAX", "3"}, {"SLUICE_ATTEMPT", "0"}}), "");
    EXPECT_THAT(alone.requests(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
