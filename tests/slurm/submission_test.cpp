#include "slurm/submission.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "slurm/queue.hpp"
#include "slurm/submit.hpp"
#include "tests/slurm/slurm_jobs.hpp"
#include "tests/support/fault_injection.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

TEST(Submission, IsReadFromWhatSbatchPrints) {
    EXPECT_EQ(parse_submission("4711\n"), Submission{.job = "4711"});
    EXPECT_EQ(parse_submission("4711;east\n"), (Submission{.job = "4711", .cluster = "east"}));
    EXPECT_EQ(parse_submission("4711;aA_zZ-0.9"), (Submission{.job = "4711", .cluster = "aA_zZ-0.9"}));
    EXPECT_EQ(parse_submission("a site's greeting\n4711"), Submission{.job = "4711"});
    for (const char* text : {"", "\n", "Submitted batch job 4711", "47 11", "-1", "4711;a b", "4711;$(x)", "4711_1"}) {
        EXPECT_EQ(parse_submission(text), std::nullopt) << text;
    }
}

TEST(Submission, HasNumberAndClusterOfAtMost32Characters) {
    const std::string longest(32, '7');

    EXPECT_TRUE(parse_submission(longest + ";" + longest));
    EXPECT_FALSE(parse_submission(longest + "7"));
    EXPECT_FALSE(parse_submission("7;" + longest + "7"));
}

TEST(Submission, IsReadWithoutWhatIsOfTheWrongType) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "submitted.json";
    const auto read = [&](const char* text) {
        test::write_file(file, text);
        return read_submission(file);
    };

    EXPECT_EQ(read(R"({"job": "7", "cluster": 1, "earlier": 2, "log": 3})"), Submission{.job = "7"});
    EXPECT_EQ(read(R"({"job": "7", "earlier": ["5", 6, "x", null]})"), (Submission{"7", "", {"5"}}));
    for (const char* text : {"", "[]", "{}", R"({"job": 7})", R"({"job": "x"})"}) {
        EXPECT_EQ(read(text), std::nullopt) << text;
    }
}

TEST(Submission, IsFoundAgain) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "submitted.json";
    EXPECT_EQ(read_submission(file), std::nullopt);

    write_submission(file, {.job = "4711", .cluster = "east"});

    EXPECT_EQ(read_submission(file)->job, "4711");
    EXPECT_EQ(read_submission(file)->cluster, "east");
}

TEST(Follower, TakesTheJobsPlaceAndRemembersTheChain) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "submitted.json";
    write_submission(file, {.job = "7", .cluster = "east"});

    write_follower(file, "7", {.job = "8", .cluster = "east"});
    write_follower(file, "8", {.job = "9", .cluster = "east"});

    EXPECT_EQ(read_submission(file), (Submission{"9", "east", {"7", "8"}}));
    write_follower(file, "5", {.job = "6"});  // somebody has put another file there
    EXPECT_EQ(read_submission(file), (Submission{"6", "", {"5"}}));
}

TEST(TestSubmission, LeavesNoScriptBehindThatCouldNotBeWritten) {
    const TemporaryFolder folder;
    const char* const usual = std::getenv("TMPDIR");
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    install_faults();
    arm_fault("write=errno:ENOSPC");

    EXPECT_THROW((void)test_submission(slurm_job(), some_paths, {}), Error);

    disarm_faults();
    usual == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", usual, 1);
    EXPECT_TRUE(entries_of(folder.path()).empty());
}

TEST(QueueLine, IsTakenApart) {
    const auto job = parse_queue_line("RUNNING|2026-11-21T18:00:00|n[0-3]|None");

    ASSERT_TRUE(job);
    EXPECT_EQ(job->state, "RUNNING");
    EXPECT_EQ(job->end, "2026-11-21T18:00:00");
    EXPECT_EQ(job->nodes, "n[0-3]");
    EXPECT_TRUE(job->is_active());
    EXPECT_EQ(job->text(), "RUNNING");
    EXPECT_FALSE(parse_queue_line("TIMEOUT|N/A||TimeLimit")->is_active());
    EXPECT_EQ(parse_queue_line(""), std::nullopt);
    EXPECT_EQ(parse_queue_line("CLUSTER: east"), std::nullopt);
}

}  // namespace
}  // namespace sluice
