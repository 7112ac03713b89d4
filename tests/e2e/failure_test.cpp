#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t item_bytes = 1014;

/// The classifier's compact form, every byte blank, but one item holds a byte that no alphabet has.
std::string items_with_a_bad_one(std::size_t items, std::size_t bad) {
    std::string bytes(items * item_bytes, static_cast<char>(70));
    bytes[bad * item_bytes + 5] = static_cast<char>(71);
    return bytes;
}

class FailingItem : public testing::TestWithParam<int> {};

TEST_P(FailingItem, IsNamedOnceAndPublishesNothing) {
    const JobFolder job(0);
    write_file(job.path() / "articles.u8", items_with_a_bad_one(70, 50));

    const ProcessResult result = job.run_ranks(GetParam(), set({"input.path=articles.u8", "pipeline.chunk_items=8"}));

    EXPECT_EQ(result.exit_code, 65);
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("item 50"));
    std::filesystem::remove(job.path() / "articles.u8");
    job.expect_unfinished();
}

INSTANTIATE_TEST_SUITE_P(Alone, FailingItem, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Mpi, FailingItem, testing::Values(1, 3));

TEST(FileSizeLimit, EndsTheRunWithAnInputOutputErrorAndPublishesNothing) {
    const JobFolder job(200);  // rows of about 10 KiB

    Process process(launch_words(0, {"run", "job.toml"}), {.folder = job.path(), .largest_file = 4096});
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 74) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("E-IO-004"));
    job.expect_unfinished();
}

TEST(MpiDriver, ThatRunsOutOfMemoryOnOneRankEndsAllWithOneMessage) {
    if (!std::string(SLUICE_SANITIZERS).empty()) {
        GTEST_SKIP() << "a sanitizer's shadow memory does not fit into a limited address space";
    }
    const JobFolder job(60'000);  // in one chunk: 2 GB of work space
    const std::vector<std::string> run{"run", "job.toml", "--set", "pipeline.chunk_items=60000"};
    std::vector<std::string> words = launch_words(2, run);
    words.insert(words.end(), {":", "-n", "1", SLUICE_PRLIMIT, "--as=2000000000", SLUICE_PROGRAM});
    words.insert(words.end(), run.begin(), run.end());

    Process process(words, {.folder = job.path()});
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 71) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("rank 2 on "));
    EXPECT_THAT(result.err, Not(HasSubstr("resumes from there"))) << "nothing is committed";
    job.expect_unfinished();
}

TEST(MpiMemoryPlan, IsCheckedBeforeMemoryIsShared) {
    if (!std::string(SLUICE_SANITIZERS).empty()) {
        GTEST_SKIP() << "a sanitizer's shadow memory does not fit into a limited address space";
    }
    const JobFolder job(1);
    std::string lines;
    for (int line = 0; line < 1'100'000; ++line) {
        lines += "a\n";
    }
    write_file(job.path() / "articles.txt", lines);
    const std::vector<std::string> settings =
        set({"pipeline.chunk_items=1048576", "pipeline.depth=1024"});  // 2 TB, and 2 GB of them read ahead
    std::vector<std::string> words = launch_words(2, {"run", "job.toml"});
    words.insert(words.end() - 3, {SLUICE_PRLIMIT, "--as=1500000000"});
    words.insert(words.end(), settings.begin(), settings.end());

    const ProcessResult result = Process(words, {.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 71) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("rank 0 on .*: memory plan: this process needs"));
    job.expect_unfinished();
}

/// Words that start the first rank in `first` and the second in `second`.
std::vector<std::string> two_ranks(const std::vector<std::string>& first, const std::vector<std::string>& second) {
    std::vector<std::string> words = launch_words(1, {});
    words.pop_back();
    words.insert(words.end(), first.begin(), first.end());
    words.insert(words.end(), {":", "-n", "1"});
    words.insert(words.end(), second.begin(), second.end());
    return words;
}

TEST(MpiJobs, ThatDifferByRankAreRefusedBeforeAnythingIsWritten) {
    const JobFolder job(3);
    const JobFolder other(3);
    const std::string file = (job.path() / "job.toml").native();
    const std::vector<std::string> run{SLUICE_PROGRAM, "run", file};
    const std::string other_file = (other.path() / "job.toml").native();
    const std::vector<std::pair<std::vector<std::string>, const char*>> others{
        {{other_file}, "rank 1 was started for '"},
        {{file, "--set", "output.path=other.csv"}, "rank 1 was started with another --set than rank 0"},
    };

    for (const auto& [arguments, message] : others) {
        std::vector<std::string> other_run{SLUICE_PROGRAM, "run"};
        other_run.insert(other_run.end(), arguments.begin(), arguments.end());
        const ProcessResult result = Process(two_ranks(run, other_run), {.folder = job.path()}).wait();

        EXPECT_EQ(result.exit_code, 78) << result.err;
        ASSERT_EQ(result.errors().size(), 1U) << result.err;
        EXPECT_THAT(result.errors().front(), HasSubstr("error[E-MPI-072]: rank 0 on "));
        EXPECT_THAT(result.errors().front(), HasSubstr(message));
        EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
    }
    const ProcessResult unseen =
        Process(two_ranks(run, {SLUICE_PROGRAM, "run", "/no/such/job.toml"}), {.folder = job.path()}).wait();
    EXPECT_EQ(unseen.exit_code, 0) << "only rank 0 has to see it\n" << unseen.err;
}

TEST(MpiJobFile, ThatIsWrongIsSaidOnce) {
    const JobFolder job(3);

    const ProcessResult result = job.run_ranks(3, {"--set", "pipeline.depht=2"});

    EXPECT_EQ(result.exit_code, 78) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr("pipeline.depth"));
    job.expect_nothing_left();
}

}  // namespace
}  // namespace sluice::test
