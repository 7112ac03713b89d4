#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice::test {

/// A job of Slurm's, of which squeue tells how much time it has left as soon as the test does.
class TimeLeftInSlurm {
public:
    TimeLeftInSlurm() : slurm_(FakePrograms::Others::seen) {
        slurm_.add("squeue", "until [ -s '" + said() + "' ]; do sleep 0.01; done; echo 7 $(cat '" + said() + "')");
    }

    /// Arguments are those after `sluice run job.toml`.
    [[nodiscard]] static std::unique_ptr<Process> start(const JobFolder& job,
                                                        const std::vector<std::string>& arguments) {
        std::vector<std::string> words{
            "/usr/bin/env", "-u", "SLURM_JOB_END_TIME", "SLURM_JOB_ID=7", SLUICE_PROGRAM, "run", "job.toml"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return std::make_unique<Process>(words, ProcessOptions{.folder = job.path()});
    }

    /// `left` as squeue prints it: "0:12".
    void say(const std::string& left) const { write_file(said(), left); }

private:
    [[nodiscard]] std::string said() const { return folder_.path() / "left"; }

    TemporaryFolder folder_;
    FakePrograms slurm_;
};

}  // namespace sluice::test
