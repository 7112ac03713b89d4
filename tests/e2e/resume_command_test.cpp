#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/early_end.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(ResumeCommand, GoesOnFromAnyFolderWithTheJobAsItBegan) {
    const JobFolder job(mostly_held_texts(300));
    const auto words = joined(small_chunks, set({"output.scores=false"}));
    const std::string expected = whole_output(job, 0, words);
    EXPECT_EQ(stop_early(job, words).exit_code, 75);
    std::filesystem::remove(job.path() / "job.toml");
    const TemporaryFolder elsewhere;

    const ProcessResult result = run_sluice(job, {"resume", job.path() / "labels.csv.sluice"}, elsewhere.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    EXPECT_TRUE(names_in(elsewhere.path()).empty());
    EXPECT_THAT(run_sluice(job, {"resume", "labels.csv"}).out, HasSubstr("already complete"));
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

    const ProcessResult result = run_sluice(job, {"resume", "copy.csv"});

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

    const ProcessResult file = run_sluice(job, {"resume", moved / "labels.csv"});
    const ProcessResult folder = run_sluice(job, {"resume", moved / "parts"});

    EXPECT_EQ(file.exit_code, 0) << file.err;
    EXPECT_EQ(contents(moved / "labels.csv"), expected);
    EXPECT_EQ(folder.exit_code, 0) << folder.err;
    EXPECT_EQ(contents(moved / "parts/part-00000.csv"), expected);
}

TEST(ResumeCommand, TakesRelativePathsOfSetFromTheFolderOfTheOutput) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    std::filesystem::rename(job.path() / "articles.txt", job.path() / "renamed.txt");
    const TemporaryFolder elsewhere;

    const ProcessResult result = run_sluice(
        job,
        {"resume", job.path() / "labels.csv", "--set", "input.path=renamed.txt", "--set", "output.report=other.json"},
        elsewhere.path());

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(job.path() / "other.json"));
}

TEST(ResumeCommand, SpeaksOfNoJobFileWhereTheInputIsGone) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    const std::filesystem::path input = job.path() / "articles.txt";
    std::filesystem::remove(input);

    const ProcessResult resumed = run_sluice(job, {"resume", "labels.csv"});
    const ProcessResult begun = job.run_alone(small_chunks);

    EXPECT_EQ(resumed.exit_code, 66);
    EXPECT_THAT(resumed.err, HasSubstr("E-INP-028]: " + std::filesystem::canonical(job.path()).native()));
    EXPECT_THAT(resumed.err, Not(HasSubstr("job file")));
    EXPECT_THAT(begun.err, HasSubstr("relative to the job file's folder"));
}

TEST(ResumeCommand, BeginsNoOtherOutput) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    const ProcessResult other = run_sluice(job, {"resume", "labels.csv", "--set", "output.path=other.csv"});
    const ProcessResult same = run_sluice(job, {"resume", "labels.csv", "--set", "output.path=labels.csv"});

    EXPECT_EQ(other.exit_code, 78) << other.err;
    EXPECT_THAT(other.err, HasSubstr("E-CFG-105]: --set output.path: got "));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "other.csv"));
    EXPECT_EQ(same.exit_code, 0) << same.err;
}

TEST(ResumeCommand, NeedsARun) {
    const JobFolder job(3);

    for (const char* name : {"labels.csv", "job.toml", "articles.txt", "missing"}) {
        const ProcessResult result = run_sluice(job, {"resume", name});
        EXPECT_EQ(result.exit_code, 66) << name;
        EXPECT_THAT(result.err, HasSubstr("E-RUN-116"));
    }
    EXPECT_EQ(run_sluice(job, {"resume"}).exit_code, 64);
    EXPECT_THAT(run_sluice(job, {"status", "job.toml"}).err, HasSubstr(" run job.toml` begins it"));
    job.expect_nothing_left();
}

TEST(StatusCommand, TellsHowARunThatMayGoOnHasEnded) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    const ProcessResult result = run_sluice(job, {"status", "labels.csv"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("exit code 75"));
}

TEST(RunOfAFolderOfParts, IsNamedByAPartButByNoOtherFile) {
    const JobFolder job(20);
    ASSERT_EQ(job.run_alone(set({"output.path=parts/", "output.format=csv"})).exit_code, 0);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    std::filesystem::copy(job.path() / "labels.csv.sluice", job.path() / "mine.sluice",
                          std::filesystem::copy_options::recursive);  // of a file `mine`
    std::filesystem::create_directory(job.path() / "mine");
    for (const char* file : {"parts/notes.txt", "mine/part-00000.csv", "part-00000.csv"}) {
        write_file(job.path() / file, "mine");
    }

    EXPECT_EQ(run_sluice(job, {"status", "parts/part-00000.csv"}).exit_code, 0);
    for (const char* file : {"parts/notes.txt", "parts/part-00001.csv", "mine/part-00000.csv", "part-00000.csv"}) {
        const ProcessResult result = run_sluice(job, {"status", file});
        EXPECT_EQ(result.exit_code, 66) << file << result.out;
        EXPECT_THAT(result.err, HasSubstr("E-RUN-116"));
    }
}

TEST(VerifyCommand, ReadsEveryByteOfAnOutput) {
    const JobFolder job(60);
    EXPECT_EQ(job.run_alone({}).exit_code, 0);

    for (const char* name : {"labels.csv", "labels.csv.sluice", "job.toml"}) {
        const ProcessResult result = run_sluice(job, {"verify", name});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("labels.csv: intact: 60 items"));
    }
    const json whole = json::parse(run_sluice(job, {"verify", "labels.csv", "--json"}).out);
    EXPECT_EQ(whole.at("intact"), true);
    EXPECT_EQ(whole.at("bytes"), std::filesystem::file_size(job.path() / "labels.csv"));

    std::string bytes = contents(job.path() / "labels.csv");
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(job.path() / "labels.csv", bytes);
    const ProcessResult damaged = run_sluice(job, {"verify", "labels.csv"});
    EXPECT_EQ(damaged.exit_code, 84);
    EXPECT_THAT(damaged.out, HasSubstr("labels.csv: bytes 0 to "));
    EXPECT_THAT(damaged.err, HasSubstr("E-CKP-088"));
    EXPECT_EQ(json::parse(run_sluice(job, {"verify", "labels.csv", "--json"}).out).at("intact"), false);
}

TEST(VerifyCommand, TellsWhatIsNotComplete) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    const ProcessResult result = run_sluice(job, {"verify", "labels.csv"});

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("E-OUT-111"));
    EXPECT_THAT(result.err, HasSubstr("hint: run its job again to finish it"));
}

}  // namespace
}  // namespace sluice::test
