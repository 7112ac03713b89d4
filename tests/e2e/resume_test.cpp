#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> small_chunks = set({"pipeline.chunk_items=8"});

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

json run_in_report(const JobFolder& job) {
    return json::parse(contents(job.path() / "labels.csv.report.json")).at("run");
}

/// Two chunks of 8 are computed, the rest is held.
std::vector<std::string> texts(std::size_t items) {
    return held_texts(items, 16);
}

std::unique_ptr<Process> computing(const JobFolder& job, const std::vector<std::string>& words) {
    job.hold();
    auto process = job.start_alone(words);
    EXPECT_TRUE(eventually([&] { return job.has_written() && job.is_held(process->pid()); }));
    return process;
}

/// What the job gives when nothing is held.
std::string whole_output(const JobFolder& job, int ranks, const std::vector<std::string>& words) {
    job.release();
    return job.output_of(ranks, words);
}

/// Starts the job alone and stops it when chunks were written; what was held is released then.
ProcessResult stop_early(const JobFolder& job, const std::vector<std::string>& words) {
    const auto process = computing(job, words);
    process->send(SIGTERM);
    EXPECT_TRUE(eventually([&] { return process->err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();
    return process->wait();
}

/// The journal says what is committed, 64 bytes a chunk.
TEST(Mpi, GoesOnAfterAKillOnAnotherNumberOfRanks) {
    constexpr std::size_t items = 300;
    const JobFolder job(texts(items));
    const std::string expected = whole_output(job, 3, small_chunks);
    const auto process = computing(job, small_chunks);
    EXPECT_TRUE(eventually([&] {
        std::error_code missing;
        return std::filesystem::file_size(job.path() / "labels.csv.sluice/attempts/1/w0.jrn", missing) >= 64 &&
               !missing;
    }));
    process->send(SIGKILL);
    EXPECT_EQ(process->wait().exit_code, 128 + SIGKILL);
    job.release();

    const ProcessResult result = job.run_ranks(3, with(small_chunks, set({"run.devices=2", "pipeline.depth=1"})));

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    const json run = run_in_report(job);
    EXPECT_GE(run.at("items_before"), 8U);
    EXPECT_EQ(run.at("items_before").get<std::size_t>() + run.at("items_done").get<std::size_t>(), items);
    EXPECT_FALSE(run.at("partial"));
}

TEST(Resume, GoesOnAfterAStopWithTheChunkSizeItBeganWith) {
    const JobFolder job(texts(300));
    const std::string expected = whole_output(job, 0, small_chunks);
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    const json first = run_in_report(job);
    EXPECT_TRUE(first.at("partial"));
    EXPECT_GE(first.at("items_done"), 8U);

    const ProcessResult result = job.run_alone({});  // an automatic size would be another one

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    EXPECT_EQ(run_in_report(job).at("items_before"), first.at("items_done"));
    EXPECT_THAT(result.err, HasSubstr("labels.csv: resuming after "));
}

TEST(Resume, RefusesAnotherJobAndNamesWhatDiffers) {
    const JobFolder job(texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    for (const auto& [setting, named] : {std::pair("output.scores=false", "output.scores (was 'true', is 'false')"),
                                         std::pair("model.random=18", "model.random (was '17', is '18')"),
                                         std::pair("pipeline.chunk_items=16", "chunk_items (was '8', is '16')")}) {
        const ProcessResult check =
            Process({SLUICE_PROGRAM, "check", "job.toml", "--set", setting}, {.folder = job.path()}).wait();
        const ProcessResult run = job.run_alone(set({setting}));

        EXPECT_EQ(run.exit_code, 78) << run.err;
        EXPECT_THAT(run.err, HasSubstr("E-CKP-090"));
        EXPECT_THAT(run.err, HasSubstr(named));
        EXPECT_EQ(check.exit_code, run.exit_code);
        EXPECT_EQ(check.err, run.err);
    }
}

TEST(Resume, RefusesASecondRunBesideALivingOne) {
    const JobFolder job(texts(20));
    const auto process = computing(job, small_chunks);

    const ProcessResult result = job.run_alone({});

    EXPECT_EQ(result.exit_code, 79);
    EXPECT_THAT(result.err, HasSubstr("E-OUT-079"));
    process->send(SIGKILL);
    EXPECT_EQ(process->wait().exit_code, 128 + SIGKILL);
}

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

TEST(Input, ThatIsReplacedWhileItIsReadEndsTheRunBeforeItsOutputAppears) {
    const JobFolder job(texts(120));
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
    const JobFolder job(texts(120));
    const std::filesystem::path weights = job.path() / "weights.bin";
    write_file(weights, std::string(4000, 'w'));
    const auto process = computing(job, with(small_chunks, set({"model.weights=weights.bin"})));
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

TEST(FolderOfParts, HoldsTheSameRows) {
    const JobFolder job(60);
    const std::string expected = job.output_of(0, small_chunks);
    const auto to_folder = with(small_chunks, set({"output.path=labels/", "output.format=csv"}));

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

ProcessResult command(const JobFolder& job, std::vector<std::string> words, const std::filesystem::path& folder = {}) {
    words.insert(words.begin(), SLUICE_PROGRAM);
    return Process(words, {.folder = folder.empty() ? job.path() : folder}).wait();
}

TEST(ResumeCommand, GoesOnFromAnyFolderWithTheJobAsItBegan) {
    const JobFolder job(texts(300));
    const auto words = with(small_chunks, set({"output.scores=false"}));
    const std::string expected = whole_output(job, 0, words);
    EXPECT_EQ(stop_early(job, words).exit_code, 75);
    std::filesystem::remove(job.path() / "job.toml");
    const TemporaryFolder elsewhere;

    const ProcessResult result = command(job, {"resume", job.path() / "labels.csv.sluice"}, elsewhere.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    EXPECT_TRUE(names_in(elsewhere.path()).empty());
    EXPECT_THAT(command(job, {"resume", "labels.csv"}).out, HasSubstr("already complete"));
}

/// A complete run of the job, as it was before it was complete.
void take_completion_back(const std::filesystem::path& folder) {
    std::filesystem::remove(folder / "labels.csv");
    std::filesystem::remove(folder / "labels.csv.sluice/MANIFEST.json");
}

TEST(ResumeCommand, WritesTheOutputOfTheRunThatIsNamed) {
    const JobFolder job(20);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    const std::string expected = contents(job.path() / "labels.csv");
    take_completion_back(job.path());
    std::filesystem::copy(job.path() / "labels.csv.sluice", job.path() / "copy.csv.sluice",
                          std::filesystem::copy_options::recursive);

    const ProcessResult result = command(job, {"resume", "copy.csv"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "copy.csv"), expected);
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
}

TEST(ResumeCommand, GoesOnInAFolderThatWasMovedWithItsInput) {
    const JobFolder job(20);
    const auto to_folder = set({"output.path=parts/", "output.format=csv"});
    EXPECT_EQ(job.run_alone({}).exit_code, 0);
    EXPECT_EQ(job.run_alone(to_folder).exit_code, 0);
    const std::string expected = contents(job.path() / "labels.csv");
    take_completion_back(job.path());
    std::filesystem::remove(job.path() / "parts/part-00000.csv");
    std::filesystem::remove(job.path() / "parts/MANIFEST.json");
    const TemporaryFolder elsewhere;
    const std::filesystem::path moved = elsewhere.path() / "moved";
    std::filesystem::create_directory(moved);
    for (const char* name : {"articles.txt", "labels.csv.sluice", "parts"}) {
        std::filesystem::rename(job.path() / name, moved / name);
    }

    const ProcessResult file = command(job, {"resume", moved / "labels.csv"});
    const ProcessResult folder = command(job, {"resume", moved / "parts"});

    EXPECT_EQ(file.exit_code, 0) << file.err;
    EXPECT_EQ(contents(moved / "labels.csv"), expected);
    EXPECT_EQ(folder.exit_code, 0) << folder.err;
    EXPECT_EQ(contents(moved / "parts/part-00000.csv"), expected);
}

TEST(Resume, EndsWhenTheRunsFolderIsMovedAwayAndGoesOnWhenItIsBack) {
    const JobFolder job(texts(300));
    const std::filesystem::path run = job.path() / "labels.csv.sluice";
    const auto process = computing(job, small_chunks);

    std::filesystem::rename(run, job.path() / "moved");
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 74) << result.err;
    EXPECT_THAT(result.err, HasSubstr("E-OUT-119"));
    EXPECT_FALSE(std::filesystem::exists(run));
    const std::string plan = job.path() / "labels.csv.sluice/plan.toml";
    EXPECT_EQ(command(job, {"stop-reason", "--plan", plan, "--srun-rc", "137"}).out, "74 no\n");
    std::filesystem::rename(job.path() / "moved", run);
    EXPECT_EQ(command(job, {"check", "job.toml"}).exit_code, 0);
}

TEST(Resume, FindsTheSameFilesThroughALinkToTheJobsFolder) {
    const JobFolder job(3);
    std::filesystem::create_directories(job.path() / "project/jobs");
    std::filesystem::create_directory_symlink("project/jobs", job.path() / "link");
    std::filesystem::rename(job.path() / "articles.txt", job.path() / "project/articles.txt");
    std::string text = contents(job.path() / "job.toml");
    for (const std::string name : {"articles.txt", "labels.csv"}) {
        text.replace(text.find(name), name.size(), "../" + name);
    }
    write_file(job.path() / "project/jobs/job.toml", text);

    const ProcessResult result = command(job, {"run", "link/job.toml"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(job.path() / "project/labels.csv"));
    EXPECT_THAT(command(job, {"run", "project/jobs/job.toml"}).out, HasSubstr("already complete"));
    EXPECT_THAT(command(job, {"resume", "project/labels.csv"}).out, HasSubstr("already complete"));
}

TEST(ResumeCommand, TakesRelativePathsOfSetFromTheFolderOfTheOutput) {
    const JobFolder job(texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    std::filesystem::rename(job.path() / "articles.txt", job.path() / "renamed.txt");
    const TemporaryFolder elsewhere;

    const ProcessResult result = command(
        job,
        {"resume", job.path() / "labels.csv", "--set", "input.path=renamed.txt", "--set", "output.report=other.json"},
        elsewhere.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(job.path() / "other.json"));
}

TEST(ResumeCommand, BeginsNoOtherOutput) {
    const JobFolder job(texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    const ProcessResult other = command(job, {"resume", "labels.csv", "--set", "output.path=other.csv"});
    const ProcessResult same = command(job, {"resume", "labels.csv", "--set", "output.path=labels.csv"});

    EXPECT_EQ(other.exit_code, 78) << other.err;
    EXPECT_THAT(other.err, HasSubstr("E-CFG-105]: --set output.path: got "));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "other.csv"));
    EXPECT_EQ(same.exit_code, 0) << same.err;
}

TEST(Resume, LeavesACompleteOutputWhereNothingCanBeWritten) {
    const JobFolder job(3);
    const auto words = set({"output.report=reports/labels.json"});
    std::filesystem::create_directory(job.path() / "reports");
    EXPECT_EQ(job.run_alone(words).exit_code, 0);
    const auto mode = std::filesystem::status(job.path()).permissions();
    std::filesystem::remove_all(job.path() / "reports");
    std::filesystem::permissions(job.path(), mode & ~std::filesystem::perms(0222));  // root may write all the same

    const ProcessResult again = job.run_alone(words);
    const ProcessResult resumed = command(job, {"resume", "labels.csv"});
    const ProcessResult checked = command(job, {"check", "job.toml", "--set", "output.report=reports/labels.json"});
    std::filesystem::permissions(job.path(), mode);

    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("already complete"));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST(ResumeCommand, NeedsARun) {
    const JobFolder job(3);

    for (const char* name : {"labels.csv", "job.toml", "articles.txt", "missing"}) {
        const ProcessResult result = command(job, {"resume", name});
        EXPECT_EQ(result.exit_code, 66) << name;
        EXPECT_THAT(result.err, HasSubstr("E-RUN-116"));
    }
    EXPECT_EQ(command(job, {"resume"}).exit_code, 64);
    job.expect_nothing_left();
}

TEST(VerifyCommand, ReadsEveryByteOfAnOutput) {
    const JobFolder job(60);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);

    for (const char* name : {"labels.csv", "labels.csv.sluice", "job.toml"}) {
        const ProcessResult result = command(job, {"verify", name});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("labels.csv: intact: 60 items"));
    }
    const json whole = json::parse(command(job, {"verify", "labels.csv", "--json"}).out);
    EXPECT_EQ(whole.at("intact"), true);
    EXPECT_EQ(whole.at("bytes"), std::filesystem::file_size(job.path() / "labels.csv"));

    std::string bytes = contents(job.path() / "labels.csv");
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(job.path() / "labels.csv", bytes);
    const ProcessResult damaged = command(job, {"verify", "labels.csv"});
    EXPECT_EQ(damaged.exit_code, 84);
    EXPECT_THAT(damaged.out, HasSubstr("labels.csv: bytes 0 to "));
    EXPECT_THAT(damaged.err, HasSubstr("E-CKP-088"));
    EXPECT_EQ(json::parse(command(job, {"verify", "labels.csv", "--json"}).out).at("intact"), false);
}

TEST(VerifyCommand, TellsWhatIsNotComplete) {
    const JobFolder job(texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    const ProcessResult result = command(job, {"verify", "labels.csv"});

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("E-OUT-111"));
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
