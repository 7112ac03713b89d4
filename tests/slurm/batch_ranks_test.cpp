// How the batch script starts ranks and waits for them, with programs that play Slurm.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>

#include "tests/slurm/stopped_attempt.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(BatchRanks, StartsTheRanksOnceTheControllerIsBack) {
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

TEST(BatchRanks, DoesNotStartRanksAgainThatSlurmRefuses) {
    const HurriedAttempt attempt;
    attempt.add("srun", "echo srun >>calls; exit 1");
    attempt.add("scontrol", "echo 'Slurmctld(primary) at n7 is DOWN'; echo 'Slurmctld(backup) at n8 is UP'");

    static_cast<void>(attempt.run({{"SLUICE_RESUME", "manual"}}));

    EXPECT_EQ(attempt.requests(), "srun\n");
}

TEST(BatchRanks, DoesNotStartRanksAgainThatMpirunHasStarted) {
    const HurriedAttempt attempt;
    attempt.add("mpirun", "echo mpirun >>calls; exit 1");
    attempt.add("scontrol", "echo 'Slurmctld(primary) at n7 is DOWN'");

    static_cast<void>(attempt.run({{"SLUICE_RESUME", "manual"}, {"SLUICE_LAUNCHER", "mpirun"}}));

    EXPECT_EQ(attempt.requests(), "mpirun\n");
}

TEST(BatchRanks, EndsAtATermAfterAPauseAsBeforeIt) {
    const HurriedAttempt attempt;
    attempt.add("sinfo", away_at_first(1, "Unable to contact slurm controller", "echo 1"));
    attempt.add("srun", "kill -TERM $PPID");

    const ProcessResult result = attempt.run_to_end({{"SLUICE_RESUME", "manual"}});

    EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.err;
}

/// Ranks that end with `code` when they are told of the signal that their script gets.
std::string ranks_that_are_stopped(int code) {
    return fmt::format("trap 'kill $!; exit {}' USR1; sleep 1000 & kill -USR1 $PPID; wait", code);
}

TEST(BatchRanks, AreToldOfASignalAndTheirOwnCodeCounts) {
    const StoppedAttempt attempt;
    write_file(attempt.run_folder() / "functions",  // they end before the script sees that they have not ended
               "kill() {\n"
               "    while [ \"$1\" = -0 ] && builtin kill -0 \"$2\" 2>/dev/null; do :; done\n"
               "    builtin kill \"$@\"\n"
               "}\n");
    const std::map<std::string, std::string> unknown{
        {"SLUICE_RESUME", "manual"}, {"SLURM_JOB_ID", "8"}, {"BASH_ENV", attempt.run_folder() / "functions"}};

    attempt.add("srun", ranks_that_are_stopped(66));
    EXPECT_EQ(attempt.run_to_end(unknown).exit_code, 66);

    attempt.add("srun", ranks_that_are_stopped(128 + SIGTERM));
    EXPECT_EQ(attempt.run_to_end(unknown).exit_code, 75) << "stopped before the first chunk";
}

/// Notes whom the script tells of a signal; programs know the script's number.
const std::string notes_who_is_told =
    "export script=$$\n"
    "kill() {\n"
    "    [ \"$1\" != -USR1 ] || echo told ${2:+ranks} >>calls\n"
    "    builtin kill \"$@\"\n"
    "}\n";

TEST(BatchRanks, AreToldOfASignalThatCameBeforeThem) {
    const StoppedAttempt attempt;
    write_file(attempt.run_folder() / "functions", notes_who_is_told);
    attempt.add("sinfo", "kill -USR1 $script; echo 1");

    static_cast<void>(attempt.run({{"SLUICE_RESUME", "manual"}, {"BASH_ENV", attempt.run_folder() / "functions"}}));

    EXPECT_EQ(attempt.requests(), "told ranks\n");
}

TEST(BatchRanks, AreNotToldOfASignalOnceTheyHaveEnded) {
    const StoppedAttempt attempt;
    write_file(attempt.run_folder() / "functions", notes_who_is_told);
    attempt.add("sleep", "kill -USR1 $script");
    attempt.add("scontrol", away_at_first(1, "Unable to contact slurm controller", "exit 0"));

    static_cast<void>(attempt.run({{"SLUICE_RESUME", "requeue"},
                                   {"SLUICE_MAX", "2"},
                                   {"SLUICE_ATTEMPT", "0"},
                                   {"BASH_ENV", attempt.run_folder() / "functions"}}));

    EXPECT_THAT(attempt.requests(), HasSubstr("scontrol\nscontrol\n"));
    EXPECT_THAT(attempt.requests(), Not(HasSubstr("told"))) << "another process may have their number";
}

TEST(BatchRanks, StartsAsManyRanksOnEachNodeAsTheJobWants) {
    const StoppedAttempt attempt;
    const auto start = [&](const std::string& launcher) {
        attempt.add(launcher,
                    "echo \"$@\" >calls; "
                    "echo ${SLURM_EXPORT_ENV-all} $OMP_NUM_THREADS $CUDA_DEVICE_ORDER $SLURM_PMIX_FENCE "
                    ">>calls; exit 75");
        EXPECT_EQ(attempt.run({{"SLUICE_RESUME", "manual"},
                               {"SLUICE_LAUNCHER", launcher},
                               {"SLUICE_RANKS", "3"},
                               {"SLURM_JOB_NUM_NODES", "2"},
                               {"SLURM_JOB_CPUS_PER_NODE", "6(x2)"},
                               {"SLURM_EXPORT_ENV", "PATH"}}),
                  "");
        return attempt.requests();
    };
    const std::string ranks = fmt::format("{} exec --plan {}\nall 1 PCI_BUS_ID ring\n", launch_words(0, {}).front(),
                                          (attempt.run_folder() / "plan.toml").native());

    EXPECT_EQ(start("srun"),
              "--mpi=pmix --kill-on-bad-exit=1 --ntasks=6 --ntasks-per-node=3 --cpus-per-task=2 --cpu-bind=cores "
              "--distribution=block:block " +
                  ranks);
    EXPECT_EQ(start("mpirun"), "--map-by ppr:3:node --bind-to none " + ranks);
}

TEST(BatchRanks, LeavesTheDaemonsOfMpirunAllCpus) {
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

TEST(BatchRanks, GivesARankAnEvenShareOfTheSmallestNode) {
    EXPECT_EQ(cpus_of_a_rank("1", {{"SLURM_JOB_CPUS_PER_NODE", "16(x2),9,12(x3)"}, {"SLUICE_RANKS", "3"}}), "3\n");
    EXPECT_EQ(cpus_of_a_rank("1", {{"SLURM_JOB_CPUS_PER_NODE", "2"}, {"SLUICE_RANKS", "3"}}), "1\n");
}

TEST(BatchRanks, AsksForNoMoreCoresThanThereAre) {
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

TEST(BatchRanks, SaysThatItsNodeLacksTheProgram) {
    const StoppedAttempt attempt;
    attempt.add("srun", "exit 2");

    const ProcessResult result = attempt.run_to_end({{"SLUICE_BIN", "/absent/sluice"}, {"SLUICE_RESUME", "manual"}});

    EXPECT_EQ(result.exit_code, 69);
    EXPECT_THAT(result.err, HasSubstr("sluice: /absent/sluice cannot be started on this node: it has to lie at the "));
    const ProcessResult silent = attempt.run_to_end({{"SLUICE_BIN", "/bin/true"}, {"SLUICE_RESUME", "manual"}});
    EXPECT_EQ(silent.exit_code, 70);
    EXPECT_EQ(silent.err, "");
}

}  // namespace
}  // namespace sluice::test
