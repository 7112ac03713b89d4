#include "slurm/queue.hpp"

#include <gtest/gtest.h>

#include "slurm/status_text.hpp"
#include "slurm/stop_reason.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice {
namespace {

/// The one program that PATH leads to.
struct OnlyProgram : test::FakePrograms {
    OnlyProgram(const std::string& name, const std::string& body) : FakePrograms(Others::hidden) { add(name, body); }
};

const Submission submission{.job = "7"};

TEST(JobInfo, IsReadAsSlurmPrintsIt) {
    EXPECT_EQ(parse_job_info("FAILED", "75"), (JobInfo{"FAILED", 75, 0}));
    EXPECT_EQ(parse_job_info("FAILED", "255"), (JobInfo{"FAILED", 255, 0}));
    EXPECT_EQ(parse_job_info("FAILED", "256"), (JobInfo{"FAILED", 1, 0})) << "as wait() has it";
    EXPECT_EQ(parse_job_info("FAILED", "19968"), (JobInfo{"FAILED", 78, 0}));
    EXPECT_EQ(parse_job_info("FAILED", "70:0"), (JobInfo{"FAILED", 70, 0}));
    EXPECT_EQ(parse_job_info("CANCELLED by 1000", "0:15"), (JobInfo{"CANCELLED", 0, 15}));
    EXPECT_EQ(parse_job_info("OUT_OF_MEMORY", "0:125"), (JobInfo{"OUT_OF_MEMORY", 0, 125}));
    EXPECT_EQ(parse_job_info("CANCELLED+", "0:0"), (JobInfo{"CANCELLED", 0, 0}));
    EXPECT_EQ(parse_job_info("", "0:0"), std::nullopt);
    EXPECT_EQ(parse_job_info("FAILED", ""), std::nullopt);
    EXPECT_EQ(parse_job_info("failed", "0:0"), std::nullopt);
    EXPECT_EQ(parse_job_info("FAILED", "x:0"), std::nullopt);
    EXPECT_EQ(parse_job_info("FAILED", "-1:0"), std::nullopt);
    EXPECT_EQ(parse_job_info("FAILED", "0:"), std::nullopt);
}

TEST(AccountingRecord, IsWhatSacctKnowsOfTheJob) {
    {
        const OnlyProgram sacct("sacct", "[ \"$4\" = --jobs=7 ] && echo 'TIMEOUT|0:15'");
        EXPECT_EQ(find_accounting_info(submission), (JobInfo{"TIMEOUT", 0, 15}));
        EXPECT_EQ(find_accounting_info({.job = "8"}), std::nullopt);
    }
    {
        const OnlyProgram sacct("sacct", "[ \"$1\" = --clusters=east ] && echo 'COMPLETED|0:0'");
        EXPECT_EQ(find_accounting_info({.job = "7", .cluster = "east"}), (JobInfo{"COMPLETED", 0, 0}));
    }
}

TEST(AccountingRecord, IsNoneWhereNobodyKnows) {
    for (const char* body : {"exit 0", "echo 'Slurm accounting storage is disabled' >&2; exit 1", "echo 'x|y'"}) {
        const OnlyProgram sacct("sacct", body);
        EXPECT_EQ(find_accounting_info(submission), std::nullopt) << body;
    }
    const OnlyProgram nothing_else("true", "exit 0");
    EXPECT_EQ(find_accounting_info(submission), std::nullopt);
    EXPECT_EQ(find_controller_info(submission), std::nullopt);
}

TEST(ControllerRecord, IsReadFromSqueuesLine) {
    {
        const OnlyProgram squeue("squeue", "echo 'FAILED              82        '");
        EXPECT_EQ(find_controller_info(submission), (JobInfo{"FAILED", 82, 0}));
    }
    {
        const OnlyProgram squeue("squeue", "echo 'CLUSTER: east'; echo 'COMPLETED 0'");
        EXPECT_EQ(find_controller_info({.job = "7", .cluster = "east"}), (JobInfo{"COMPLETED", 0, 0}));
    }
    const OnlyProgram squeue("squeue", "echo");
    EXPECT_EQ(find_controller_info(submission), std::nullopt);
}

RunStatus ended(const std::string& job, int code) {
    return {.job = job, .end = RunEnd{.code = code, .text = {}}};
}

TEST(CodeOfAnEndedJob, IsTheScriptsElseTheRunsElseWhatTheStateMeans) {
    const auto none = std::optional<RunStatus>();
    const auto code = [](const JobInfo& record, const std::optional<RunStatus>& status) {
        return code_of_ended_job("7", record, status);
    };

    EXPECT_EQ(code({"COMPLETED", 0, 0}, none), 0);
    EXPECT_EQ(code({"FAILED", 70, 0}, ended("7", 75)), 70);
    EXPECT_EQ(code({"FAILED", 1, 0}, ended("7", 82)), 82);
    EXPECT_EQ(code({"FAILED", 1, 0}, none), 70);
    EXPECT_EQ(code({"TIMEOUT", 0, 0}, none), 75);
    EXPECT_EQ(code({"CANCELLED", 0, 15}, ended("7", 74)), 74);
    EXPECT_EQ(code({"CANCELLED", 0, 15}, ended("6", 0)), 75);
    EXPECT_EQ(code({"NODE_FAIL", 0, 0}, none), 70);
    EXPECT_EQ(code_of_ended_job("7", std::nullopt, ended("7", 0)), 0);
    EXPECT_EQ(code_of_ended_job("7", std::nullopt, none), 70);
}

TEST(RunView, IsOverWhenNothingGoesOnOrFollows) {
    const auto queued = [](const char* state) { return QueuedJob{.state = state}; };
    const RunStatus again{.job = "7", .most_attempts = 2, .end = RunEnd{.code = 75, .again = true, .text = {}}};

    EXPECT_FALSE(is_done({.status = again, .job = "7", .queued = queued("PENDING"), .asked = true}));
    EXPECT_TRUE(is_done({.status = again, .job = "7", .queued = queued("TIMEOUT"), .asked = true}));
    EXPECT_TRUE(is_done({.job = "7", .asked = true}));
    EXPECT_FALSE(is_done({.job = "7", .asked = false}));
    EXPECT_FALSE(is_done({.status = again, .job = "7"}));
    EXPECT_TRUE(is_done({.status = ended("7", 74), .job = "7"}));
    EXPECT_FALSE(is_done({.status = ended("6", 74), .job = "7"}));
    EXPECT_TRUE(is_done({.status = ended("", 75)}));
    EXPECT_FALSE(is_done({.status = RunStatus{}}));
    EXPECT_TRUE(is_done({}));
    EXPECT_FALSE(is_done({.owner = "another"})) << "whose status cannot be read";
    EXPECT_FALSE(is_done({.status = RunStatus{}, .job = "7", .by_hand = true, .asked = true}));
    EXPECT_TRUE(is_done({.status = RunStatus{}, .age = 100, .job = "7", .by_hand = true, .asked = true}));
}

TEST(StatusText, TellsWhatSacctKnows) {
    const RunView view{.job = "7", .asked = true, .record = JobInfo{"OUT_OF_MEMORY", 0, 125}};

    EXPECT_EQ(status_text(view),
              "state     no attempt has started\nSlurm     job 7 OUT_OF_MEMORY, exit code 0, signal 125 (sacct)\n");
    EXPECT_EQ(status_text({.job = "7", .asked = true, .record = JobInfo{"FAILED", 70, 0}}),
              "state     no attempt has started\nSlurm     job 7 FAILED, exit code 70 (sacct)\n");
    EXPECT_NE(status_json(view).find("\"state\": \"OUT_OF_MEMORY\""), std::string::npos);
}

}  // namespace
}  // namespace sluice
