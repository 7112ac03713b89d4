#include "slurm/job_record.hpp"

#include <gtest/gtest.h>

#include "slurm/status_text.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace sluice {
namespace {

/// The one program that PATH leads to.
struct OnlyProgram : test::FakePrograms {
    OnlyProgram(const std::string& name, const std::string& body) : FakePrograms(Others::hidden) { add(name, body); }
};

const Submission submission{.job = "7"};

TEST(JobRecord, IsReadAsSlurmPrintsIt) {
    EXPECT_EQ(parse_job_record("FAILED", "75"), (JobRecord{"FAILED", 75, 0}));
    EXPECT_EQ(parse_job_record("FAILED", "19968"), (JobRecord{"FAILED", 78, 0}));
    EXPECT_EQ(parse_job_record("FAILED", "70:0"), (JobRecord{"FAILED", 70, 0}));
    EXPECT_EQ(parse_job_record("CANCELLED by 1000", "0:15"), (JobRecord{"CANCELLED", 0, 15}));
    EXPECT_EQ(parse_job_record("OUT_OF_MEMORY", "0:125"), (JobRecord{"OUT_OF_MEMORY", 0, 125}));
    EXPECT_EQ(parse_job_record("CANCELLED+", "0:0"), (JobRecord{"CANCELLED", 0, 0}));
    EXPECT_EQ(parse_job_record("", "0:0"), std::nullopt);
    EXPECT_EQ(parse_job_record("FAILED", ""), std::nullopt);
    EXPECT_EQ(parse_job_record("failed", "0:0"), std::nullopt);
    EXPECT_EQ(parse_job_record("FAILED", "x:0"), std::nullopt);
    EXPECT_EQ(parse_job_record("FAILED", "-1:0"), std::nullopt);
    EXPECT_EQ(parse_job_record("FAILED", "0:"), std::nullopt);
}

TEST(AccountingRecord, IsWhatSacctKnowsOfTheJob) {
    {
        const OnlyProgram sacct("sacct", "[ \"$4\" = --jobs=7 ] && echo 'TIMEOUT|0:15'");
        EXPECT_EQ(find_accounting_record(submission), (JobRecord{"TIMEOUT", 0, 15}));
        EXPECT_EQ(find_accounting_record({.job = "8"}), std::nullopt);
    }
    {
        const OnlyProgram sacct("sacct", "[ \"$1\" = --clusters=east ] && echo 'COMPLETED|0:0'");
        EXPECT_EQ(find_accounting_record({.job = "7", .cluster = "east"}), (JobRecord{"COMPLETED", 0, 0}));
    }
}

TEST(AccountingRecord, IsNoneWhereNobodyKnows) {
    for (const char* body : {"exit 0", "echo 'Slurm accounting storage is disabled' >&2; exit 1", "echo 'x|y'"}) {
        const OnlyProgram sacct("sacct", body);
        EXPECT_EQ(find_accounting_record(submission), std::nullopt) << body;
    }
    const OnlyProgram nothing_else("true", "exit 0");
    EXPECT_EQ(find_accounting_record(submission), std::nullopt);
    EXPECT_EQ(find_controller_record(submission), std::nullopt);
}

TEST(ControllerRecord, IsReadFromSqueuesLine) {
    {
        const OnlyProgram squeue("squeue", "echo 'FAILED              82        '");
        EXPECT_EQ(find_controller_record(submission), (JobRecord{"FAILED", 82, 0}));
    }
    {
        const OnlyProgram squeue("squeue", "echo 'CLUSTER: east'; echo 'COMPLETED 0'");
        EXPECT_EQ(find_controller_record({.job = "7", .cluster = "east"}), (JobRecord{"COMPLETED", 0, 0}));
    }
    const OnlyProgram squeue("squeue", "echo");
    EXPECT_EQ(find_controller_record(submission), std::nullopt);
}

RunStatus ended(const std::string& job, int code) {
    return {.job = job, .end = RunEnd{.code = code, .text = {}}};
}

TEST(CodeOfAnEndedJob, IsTheScriptsElseTheRunsElseWhatTheStateMeans) {
    const auto none = std::optional<RunStatus>();
    const auto code = [](const JobRecord& record, const std::optional<RunStatus>& status) {
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

TEST(RunSight, IsOverWhenNothingGoesOnOrFollows) {
    const auto queued = [](const char* state) { return QueuedJob{.state = state}; };
    const RunStatus again{.job = "7", .most_attempts = 2, .end = RunEnd{.code = 75, .again = true, .text = {}}};

    EXPECT_FALSE(is_over({.status = again, .job = "7", .queued = queued("PENDING"), .asked = true}));
    EXPECT_TRUE(is_over({.status = again, .job = "7", .queued = queued("TIMEOUT"), .asked = true}));
    EXPECT_TRUE(is_over({.job = "7", .asked = true}));
    EXPECT_FALSE(is_over({.job = "7", .asked = false}));
    EXPECT_FALSE(is_over({.status = again, .job = "7"}));
    EXPECT_TRUE(is_over({.status = ended("7", 74), .job = "7"}));
    EXPECT_FALSE(is_over({.status = ended("6", 74), .job = "7"}));
    EXPECT_TRUE(is_over({.status = ended("", 75)}));
    EXPECT_FALSE(is_over({.status = RunStatus{}}));
}

TEST(StatusText, TellsWhatSacctKnows) {
    const RunSight sight{.job = "7", .asked = true, .record = JobRecord{"OUT_OF_MEMORY", 0, 125}};

    EXPECT_EQ(status_text(sight),
              "state     no attempt has started\nSlurm     job 7 OUT_OF_MEMORY, exit code 0 (sacct)\n");
    EXPECT_NE(status_json(sight).find("\"state\": \"OUT_OF_MEMORY\""), std::string::npos);
}

}  // namespace
}  // namespace sluice
