#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/e2e/early_end.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class Complete : public testing::TestWithParam<int> {};

TEST_P(Complete, IsSaidAndLeftAsItIs) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    const std::string output = contents(job.path() / "labels.csv");
    std::filesystem::remove(job.path() / "labels.csv.report.json");

    const ProcessResult again = job.run_ranks(GetParam(), {});

    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("labels.csv is already complete: 20 items"));
    EXPECT_EQ(contents(job.path() / "labels.csv"), output);
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.report.json"));
}

INSTANTIATE_TEST_SUITE_P(Alone, Complete, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Mpi, Complete, testing::Values(3));

/// Another file at the input's path.
void replace_input(const JobFolder& job, const std::string& text, std::filesystem::file_time_type time) {
    const std::filesystem::path beside = job.path() / "articles.new";
    write_file(beside, text);
    std::filesystem::last_write_time(beside, time);
    std::filesystem::rename(beside, job.path() / "articles.txt");
}

TEST(CompleteOutput, IsThatOfAnyCopyOfItsInput) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    const std::filesystem::path input = job.path() / "articles.txt";

    replace_input(job, contents(input), std::filesystem::last_write_time(input) + std::chrono::hours(1));

    EXPECT_THAT(job.run_alone({}).out, HasSubstr("labels.csv is already complete: 20 items"));
}

TEST(CompleteOutput, IsNotThatOfAnotherInputOfTheSameSizeAndTime) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    const std::filesystem::path input = job.path() / "articles.txt";
    std::string text = contents(input);
    text.front() = text.front() == 'x' ? 'y' : 'x';

    replace_input(job, text, std::filesystem::last_write_time(input));

    const ProcessResult other = job.run_alone({});
    EXPECT_EQ(other.exit_code, 73);
    EXPECT_THAT(other.err, HasSubstr("E-OUT-024"));
    EXPECT_THAT(other.err, HasSubstr("differences: input (was '"));
}

TEST(CompleteOutput, OfAnotherJobIsRefused) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);

    const ProcessResult other =
        job.run_alone(set({"model.random=18", "pipeline.chunk_items=3", "output.scores=false"}));

    EXPECT_EQ(other.exit_code, 73);
    EXPECT_THAT(other.err, HasSubstr("E-OUT-024"));
    EXPECT_THAT(other.err, HasSubstr("model.random (was '17', is '18')"));
    EXPECT_THAT(other.err, HasSubstr("chunk_items ("));
    EXPECT_THAT(other.err, HasSubstr("output.fields ("));
}

TEST(CompleteOutput, OfAJobThatNobodyKnowsIsRefused) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    std::filesystem::remove(job.path() / "labels.csv.sluice/job.json");

    const ProcessResult result = job.run_alone({});

    EXPECT_EQ(result.exit_code, 73) << result.out;
    EXPECT_THAT(result.err, HasSubstr("error[E-OUT-024]"));
    EXPECT_THAT(result.err, HasSubstr("job.json is missing"));
}

TEST(Input, ThatIsReplacedWhileItIsReadEndsTheRunBeforeItsOutputAppears) {
    const JobFolder job(mostly_held_texts(120));
    const auto process = computing(job, small_chunks);
    process->send(SIGSTOP);
    std::string text = contents(job.path() / "articles.txt");
    const std::string before = text;
    text.front() = text.front() == 'x' ? 'y' : 'x';

    replace_input(job, text, std::filesystem::last_write_time(job.path() / "articles.txt"));
    process->send(SIGCONT);
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 65);
    EXPECT_THAT(result.err, HasSubstr("E-INP-034"));
    EXPECT_THAT(result.err, HasSubstr("replaced while running by another file"));
    job.expect_unfinished();
    replace_input(job, before, std::filesystem::file_time_type::clock::now());
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
}

TEST(Input, OfWeightsThatAreReplacedMeanwhileEndsTheRunLikewise) {
    const JobFolder job(mostly_held_texts(120));
    const std::filesystem::path weights = job.path() / "weights.bin";
    write_file(weights, std::string(4000, 'w'));
    const auto process = computing(job, joined(small_chunks, set({"model.weights=weights.bin"})));
    process->send(SIGSTOP);

    write_file(job.path() / "others.bin", std::string(4000, 'x'));
    std::filesystem::rename(job.path() / "others.bin", weights);
    process->send(SIGCONT);
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 65);
    EXPECT_THAT(result.err, HasSubstr("E-MOD-054"));
    std::filesystem::remove(weights);
    job.expect_unfinished();
}

TEST(FolderOfParts, HoldsTheSameRows) {
    const JobFolder job(60);
    const std::string expected = job.output_of(0, small_chunks);
    const auto to_folder = joined(small_chunks, set({"output.path=labels/", "output.format=csv"}));

    const ProcessResult result = job.run_alone(to_folder);
    const ProcessResult again = job.run_alone(to_folder);

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "labels/part-00000.csv"), expected);
    EXPECT_EQ(names_in(job.path() / "labels"),
              (std::vector<std::string>{".sluice", "MANIFEST.json", "part-00000.csv"}));
    EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.report.json"));
    EXPECT_THAT(again.out, HasSubstr("already complete"));
    for (const char* name : {"labels", "labels/part-00000.csv"}) {
        const ProcessResult verified = Process({SLUICE_PROGRAM, "verify", name}, {.folder = job.path()}).wait();
        EXPECT_EQ(verified.exit_code, 0) << verified.err;
        EXPECT_THAT(verified.out, HasSubstr("labels: intact: "));
    }
    const ProcessResult inside =
        Process({SLUICE_PROGRAM, "verify", "part-00000.csv"}, {.folder = job.path() / "labels"}).wait();
    EXPECT_EQ(inside.exit_code, 0) << inside.err;
}

TEST(FolderOfParts, NeedsAFormat) {
    const JobFolder job(3);

    const ProcessResult result = job.run_alone(set({"output.path=labels/"}));

    EXPECT_EQ(result.exit_code, 78);
    EXPECT_THAT(result.err, HasSubstr("[output].format is required for a folder of parts"));
}

TEST(FaultVariable, IsRefusedByABuildWithoutFaultPoints) {
    const JobFolder job(3);

    const ProcessResult result =
        Process({"/usr/bin/env", "SLUICE_FAULT=any=kill", SLUICE_PROGRAM, "run", "job.toml"}, {.folder = job.path()})
            .wait();

    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err, HasSubstr("E-USE-097"));
    job.expect_nothing_left();
}

}  // namespace
}  // namespace sluice::test
