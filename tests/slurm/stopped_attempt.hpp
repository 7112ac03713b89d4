#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "slurm/batch_script.hpp"
#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice::test {

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

    [[nodiscard]] std::filesystem::path run_folder() const { return folder_.path() / "labels.csv.sluice"; }

private:
    [[nodiscard]] std::filesystem::path calls() const { return run_folder() / "calls"; }

    TemporaryFolder folder_;
    FakePrograms slurm_;
};

/// A program of Slurm's that says `problem` at its first `times` calls, then does `body`.
inline std::string away_at_first(int times, const std::string& problem, const std::string& body) {
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

}  // namespace sluice::test
