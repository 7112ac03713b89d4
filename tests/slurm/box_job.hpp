#pragma once

#include <memory>
#include <string>
#include <vector>

#include "slurm/run_status.hpp"
#include "tests/e2e/job_folder.hpp"

namespace sluice::test {

/// A job, as JobFolder's, for the cluster of tools/slurm-box. What is still in the queue at its end is cancelled.
class BoxJob {
public:
    /// `keys`: "slurm.nodes=4", …
    BoxJob(std::size_t items, const std::vector<std::string>& keys);
    BoxJob(const std::vector<std::string>& texts, const std::vector<std::string>& keys);

    BoxJob(const BoxJob&) = delete;
    BoxJob& operator=(const BoxJob&) = delete;
    ~BoxJob();

    [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }
    [[nodiscard]] std::filesystem::path run_folder() const { return path() / "labels.csv.sluice"; }

    /// `sluice WORDS...`, in the job's folder.
    [[nodiscard]] ProcessResult sluice(const std::vector<std::string>& words) const;

    /// Expects success. `more` are options behind `--`.
    void submit(const std::vector<std::string>& more = {});

    /// `sluice submit --wait`, which has submitted the job and waits for it.
    [[nodiscard]] std::unique_ptr<Process> submit_waiting();

    /// From now on the job is the one that continues with the run.
    void turn_to_follower();

    [[nodiscard]] const std::string& id() const { return id_; }

    /// Slurm's word for the job: "COMPLETED".
    [[nodiscard]] std::string state() const;

    /// What `scontrol show job` calls `field`; the job must be known.
    [[nodiscard]] std::string field(const std::string& name) const;

    /// Waits until Slurm calls it so; fails the test when it is done with another word, or it takes too long.
    void wait_for(const std::string& state) const;

    /// Slurm would wait for two minutes.
    void start_requeued() const;

    /// Lets go of items that are held.
    void release() const { folder_.release(); }

    /// Waits until the job has heard that it has to stop.
    void wait_for_drain() const;

    /// USR1 to the job's script, as Slurm sends it before the time limit. What is held continues once the job has heard
    /// of it.
    void announce_the_end_of_time() const;

    /// The status file.
    [[nodiscard]] RunStatus status() const;

    /// Waits until at least `chunks` chunks are done.
    void wait_for_chunks(std::uint64_t chunks) const;

    /// Everything that the job has printed.
    [[nodiscard]] std::string log() const;

    /// What the same job gives without Slurm.
    [[nodiscard]] std::string expected_output() const;
    [[nodiscard]] std::string output() const;

private:
    JobFolder folder_;
    std::vector<std::string> overrides_;
    std::string id_;
};

/// 400 items, of which the first are computed and the rest is held.
[[nodiscard]] std::vector<std::string> held_items();

/// Items that take a while, of which nobody sees the last.
[[nodiscard]] std::vector<std::string> slow_items();

[[nodiscard]] std::vector<std::string> with(std::vector<std::string> keys, const std::vector<std::string>& more);

/// Ends the test as skipped where there is no box.
#define SKIP_WITHOUT_BOX()                                                           \
    if (!std::filesystem::exists(sluice::test::slurm_conf())) {                      \
        GTEST_SKIP() << "no Slurm: root and the packages of tools/slurm-box needed"; \
    }

[[nodiscard]] std::filesystem::path slurm_conf();

/// A program of Slurm's; expects success and returns what it prints.
std::string slurm(const std::vector<std::string>& words);

}  // namespace sluice::test
