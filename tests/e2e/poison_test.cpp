#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/echo_job.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/fake_programs.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t count = 40;
constexpr int crash = 128 + SIGSEGV;

/// Each of another length, which is its label; `text` in place of number `index`.
std::vector<std::string> items_with(std::size_t index, const std::string& text) {
    std::vector<std::string> items;
    for (std::size_t i = 0; i < count; ++i) {
        items.push_back(i == index ? text : std::string(i + 1, 'x'));
    }
    return items;
}

/// Runs the job until it does not end with `code` any more; returns how often it did.
int attempts_until(const EchoJob& job, int ranks, const std::vector<std::string>& settings, int code,
                   ProcessResult& last) {
    constexpr int most = 20;
    for (int attempts = 0; attempts < most; ++attempts) {
        last = job.run(ranks, settings);
        if (last.exit_code != code) {
            return attempts;
        }
    }
    return most;
}

TEST(Poison, IsFoundByHalvingAndLeftOutWhenTheJobAllowsIt) {
    const EchoJob job(items_with(13, "crash"));
    const std::vector<std::string> chunks_of_8{"pipeline.chunk_items=8"};

    ProcessResult refused;
    const int attempts = attempts_until(job, 0, chunks_of_8, crash, refused);

    EXPECT_EQ(attempts, 6);  // log2(8) + 3
    EXPECT_EQ(refused.exit_code, 82) << refused.err;
    ASSERT_EQ(refused.errors().size(), 1U) << refused.err;
    EXPECT_THAT(refused.errors().front(), HasSubstr("E-RUN-093]: item 13: "));

    const ProcessResult done = job.run(0, {"pipeline.chunk_items=8", "fault.max_failed_items=1"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("W-RUN-093]: item 13: "));
    EXPECT_THAT(done.out, HasSubstr("1 item left out: 13"));
    std::string expected = "item,label\n";
    for (std::size_t i = 0; i < count; ++i) {
        expected += std::to_string(i) + "," + (i == 13 ? "" : std::to_string(i + 1)) + "\n";
    }
    EXPECT_EQ(contents(job.path() / "labels.csv"), expected);
    const auto manifest = nlohmann::json::parse(contents(job.path() / "labels.csv.sluice" / "MANIFEST.json"));
    EXPECT_EQ(manifest.at("failed_items"), nlohmann::json::array({13}));
    EXPECT_EQ(job.report().at("run").at("failed_items"), nlohmann::json::array({13}));
}

/// Not by a code of sluice's own, which a script would take at its word.
TEST(Poison, ThatCallsExitIsFoundLikewise) {
    const EchoJob job(items_with(13, "exit"));
    const std::vector<std::string> settings{"pipeline.chunk_items=2", "fault.max_failed_items=1"};

    const ProcessResult first = job.run(0, settings);
    ProcessResult done;
    const int attempts = 1 + attempts_until(job, 0, settings, 128 + SIGABRT, done);

    EXPECT_EQ(first.exit_code, 128 + SIGABRT);
    EXPECT_THAT(first.err, HasSubstr("sluice: exit(75) was called in the middle of the run"));
    ASSERT_EQ(first.errors().size(), 1U) << first.err;
    EXPECT_THAT(first.errors().front(), HasSubstr("died: SIGABRT in compute of chunk"));
    EXPECT_EQ(attempts, 4);  // log2(2) + 3
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(job.report().at("run").at("failed_items"), nlohmann::json::array({13}));
}

TEST(MpiPoison, IsFoundWhicheverRankDiesOfIt) {
    const EchoJob job(items_with(13, "crash"));
    const std::vector<std::string> settings{"pipeline.chunk_items=2", "fault.max_failed_items=1"};

    ProcessResult done;
    const int attempts = attempts_until(job, 2, settings, crash, done);

    EXPECT_EQ(attempts, 4);  // log2(2) + 3
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(job.report().at("run").at("failed_items"), nlohmann::json::array({13}));
}

TEST(Poison, ThatHangsIsFoundLikewise) {
    const EchoJob job(items_with(5, "hang"));
    const std::vector<std::string> settings{"pipeline.chunk_items=1", "fault.hang_timeout=1s", "pipeline.depth=1",
                                            "fault.max_failed_items=1"};

    ProcessResult done;
    const int attempts = attempts_until(job, 0, settings, 76, done);

    EXPECT_EQ(attempts, 4);  // the last one alone with it
    EXPECT_EQ(done.exit_code, 0) << done.err;
}

// As a GPU that goes wrong over one item does, each time.
TEST(MpiPoison, ThatADeviceFailsOnIsFoundWhicheverRankHasIt) {
    const EchoJob job(items_with(13, "fail"));
    const std::vector<std::string> settings{"pipeline.chunk_items=2", "fault.max_failed_items=1"};

    ProcessResult done;
    const int attempts = attempts_until(job, 2, settings, 70, done);

    EXPECT_EQ(attempts, 4);  // log2(2) + 3
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(job.report().at("run").at("failed_items"), nlohmann::json::array({13}));
}

TEST(Poison, ThatADeviceFailsOnAloneIsNamed) {
    const EchoJob job(items_with(13, "fail"));
    const std::vector<std::string> settings{"pipeline.chunk_items=2"};

    for (int attempt = 1; attempt <= 3; ++attempt) {
        EXPECT_THAT(job.run(0, settings).err, HasSubstr("compute of chunk 6 (items 12 to 13): internal error: the"));
    }
    const ProcessResult alone = job.run(0, settings);

    EXPECT_EQ(alone.exit_code, 70);
    EXPECT_THAT(alone.err, HasSubstr("compute of chunk 6 (items 13 to 13): internal error: the device is sick"));
}

TEST(Deaths, OfWhichNobodyKnowsTheItemAreTriedThreeTimes) {
    const EchoJob job(items_with(0, "poison"));  // kills its reader

    ProcessResult refused;
    const int attempts = attempts_until(job, 0, {}, crash, refused);

    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(refused.exit_code, 82) << refused.err;
    ASSERT_EQ(refused.errors().size(), 1U) << refused.err;
    EXPECT_THAT(refused.errors().front(), HasSubstr("E-RUN-082"));
    EXPECT_THAT(refused.errors().front(), HasSubstr("attempt 3: rank 0 on "));
    EXPECT_EQ(job.run(0).exit_code, 82);

    EXPECT_EQ(job.retry().exit_code, crash);
    EXPECT_EQ(job.run(0).exit_code, crash);
}

TEST(Deaths, AreForgottenOnceByAJobThatIsSubmittedSo) {
    const EchoJob job(items_with(0, "poison"));
    const FakePrograms slurm(FakePrograms::Others::seen);
    slurm.add("sbatch", "echo 7");
    slurm.add("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    const auto code_of = [&](const std::vector<std::string>& words) {
        return Process(launch_words(0, words, SLUICE_ECHO_PROGRAM), {.folder = job.path()}).wait().exit_code;
    };
    const auto attempt = [&] { return code_of({"exec", "--plan", "labels.csv.sluice/plan.toml"}); };
    ProcessResult refused;
    EXPECT_EQ(attempts_until(job, 0, {}, crash, refused), 3);

    EXPECT_EQ(code_of({"submit", "job.toml", "--retry"}), 0);
    EXPECT_EQ(attempt(), crash);
    EXPECT_EQ(attempt(), crash);
    EXPECT_EQ(attempt(), crash);
    EXPECT_EQ(attempt(), 82) << "the second attempt and the third one have not forgotten";

    EXPECT_EQ(code_of({"submit", "job.toml", "--retry"}), 0);
    EXPECT_EQ(code_of({"submit", "job.toml"}), 0);
    EXPECT_EQ(attempt(), 82) << "the last submission did not say it";
    EXPECT_EQ(code_of({"submit", "job.toml", "--retry", "--test-only"}), 64);
}

TEST(Deaths, DoNotCountOnceAChunkIsThere) {
    const EchoJob job(items_with(39, "poison"));  // the last chunk's reader

    ProcessResult last;
    const int attempts = attempts_until(job, 0, {"fault.hang_timeout=0s"}, crash, last);

    EXPECT_GE(attempts, 3);
    EXPECT_LE(attempts, 9 + 3);  // nine chunks can be committed, one an attempt at least
    EXPECT_EQ(last.exit_code, 82) << last.err;
}

}  // namespace
}  // namespace sluice::test
