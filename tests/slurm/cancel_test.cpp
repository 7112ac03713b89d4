// `sluice cancel`, with programs that play Slurm.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/commit/file.hpp"
#include "core/commit/owner.hpp"
#include "core/system/process_state.hpp"
#include "slurm/run_status.hpp"
#include "slurm/submission.hpp"
#include "tests/e2e/early_end.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

Owner owner_of(const Process& process) {
    Owner owner = this_process("", 0);
    owner.process = process.pid();
    owner.process_start = read_process_state(process.pid()).value_or(ProcessState{}).start;
    return owner;
}

class Cancel : public testing::Test {
protected:
    Cancel() { create_own_folder(run_folder()); }

    [[nodiscard]] std::filesystem::path run_folder() const { return job_.path() / "labels.csv.sluice"; }

    /// The first attempt as that of `owner`, which still runs.
    void begin(const Owner& owner) const {
        const std::filesystem::path attempt = run_folder() / "attempts/1";
        std::filesystem::create_directories(attempt);
        write_file(owner_file(attempt), encode(owner));
        const RunStatus status{.job = owner.job, .host = owner.host, .process = owner.process};
        EXPECT_EQ(write_run_status(run_folder() / "status.json", status), 0);
    }

    [[nodiscard]] ProcessResult cancel() const { return run_sluice(job_, {"cancel", "labels.csv"}); }

    JobFolder job_{1};
    FakePrograms slurm_{FakePrograms::Others::seen};
};

TEST_F(Cancel, EndsTheSubmittedJobInItsCluster) {
    write_submission(run_folder() / "submitted.json", {.job = "7", .cluster = "east"});
    slurm_.add("squeue", "echo 'CLUSTER: east'; echo 'PENDING|N/A||Priority'");
    slurm_.add("scancel", "echo \"$*\" >words");

    const ProcessResult result = cancel();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "cancelled job 7\n");
    EXPECT_EQ(contents(job_.path() / "words"), "7 --clusters=east\n");
    write_submission(run_folder() / "submitted.json", {.job = "8"});
    EXPECT_EQ(cancel().exit_code, 0);
    EXPECT_EQ(contents(job_.path() / "words"), "8\n") << "of the only cluster";
}

TEST_F(Cancel, OfAJobThatHasEndedIsRefused) {
    write_submission(run_folder() / "submitted.json", {.job = "7"});
    slurm_.add("scancel", "touch cancelled");

    for (const char* answer : {"exit 0", "echo 'COMPLETED|N/A|n0|None'", "echo 'Invalid job id specified' >&2; exit 1",
                               "echo 'Invalid job_id specified' >&2; exit 1"}) {
        slurm_.add("squeue", answer);
        const ProcessResult result = cancel();

        EXPECT_EQ(result.exit_code, 66) << result.out;
        EXPECT_THAT(result.err, HasSubstr("E-SLM-117"));
        EXPECT_THAT(result.err, HasSubstr("no attempt is running"));
    }
    EXPECT_FALSE(std::filesystem::exists(job_.path() / "cancelled"));
}

TEST_F(Cancel, SaysHowScancelFailedWhereThatSaysNothing) {
    write_submission(run_folder() / "submitted.json", {.job = "7"});
    slurm_.add("squeue", "echo 'RUNNING|N/A|n0|None'");
    slurm_.add("scancel", "exit 3");

    const ProcessResult result = cancel();

    EXPECT_EQ(result.exit_code, 69) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error[E-SLM-113]: scancel: failed with 3"));
}

TEST_F(Cancel, NamesAJobThatSluiceHasNotSubmitted) {
    ASSERT_EQ(write_run_status(run_folder() / "status.json", RunStatus{.job = "7", .host = "n0"}), 0);
    const auto answered = [&](const std::string& answer) {
        slurm_.add("squeue", answer);
        return cancel();
    };

    const ProcessResult running = answered("echo 'RUNNING|N/A|n0|None'");

    EXPECT_EQ(running.exit_code, 66);
    EXPECT_THAT(running.err,
                HasSubstr(fmt::format("job 7 works on it, which `{} submit` has not submitted: scancel 7\n",
                                      program_name_of_runs())));
    for (const char* answer : {"exit 0", "echo 'COMPLETED|N/A|n0|None'"}) {
        const ProcessResult over = answered(answer);
        EXPECT_EQ(over.exit_code, 66);
        EXPECT_THAT(over.err, HasSubstr("its last attempt belonged to job 7, which has ended\n"));
    }
}

/// Its number is that of a process here too.
TEST_F(Cancel, LeavesAProcessOfAnotherHostAlone) {
    Process here({"/bin/sleep", "1000"}, {.folder = job_.path()});
    Owner owner = owner_of(here);
    const std::string host = std::exchange(owner.host, "n0");

    begin(owner);
    const ProcessResult elsewhere = cancel();
    owner.host = host;
    begin(owner);
    const ProcessResult done = cancel();

    EXPECT_EQ(elsewhere.exit_code, 66) << elsewhere.out;
    EXPECT_THAT(elsewhere.err,
                HasSubstr(fmt::format("process {} on n0 works on it, not one on this host\n", here.pid())));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(done.out, fmt::format("sent SIGTERM to process {}\n", here.pid()));
    EXPECT_EQ(here.wait().exit_code, 128 + SIGTERM);
}

TEST_F(Cancel, EndsAProcessHereOfAJobThatSluiceHasNotSubmitted) {
    Process here({"/bin/sleep", "1000"}, {.folder = job_.path()});
    Owner owner = owner_of(here);
    owner.job = "7";
    begin(owner);

    const ProcessResult result = cancel();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(here.wait().exit_code, 128 + SIGTERM);
}

}  // namespace
}  // namespace sluice::test
