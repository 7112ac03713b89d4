#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/classifier_forms.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class JobFileName : public testing::TestWithParam<const char*> {};

TEST_P(JobFileName, IsTakenAsItIsFromAnyFolder) {
    const JobFolder job(3);
    const std::string bytes = job.output_of(0, {});
    std::filesystem::remove(job.path() / "labels.csv.report.json");
    std::filesystem::rename(job.path() / "job.toml", job.path() / GetParam());
    const TemporaryFolder elsewhere;
    const std::string relative =
        std::filesystem::relative(job.path() / GetParam(), std::filesystem::canonical(elsewhere.path()));

    Process process(launch_words(0, {"run", "--", relative}), {.folder = elsewhere.path()});
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "labels.csv"), bytes);
    EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.csv.report.json"));
    EXPECT_TRUE(names_in(elsewhere.path()).empty());
}

INSTANTIATE_TEST_SUITE_P(Hostile, JobFileName,
                         testing::Values("two words.toml", "-n.toml", "line\nfeed.toml", "'quote\".toml",
                                         "ação 日本.toml", "$(exit 3);&.toml", "\xff\xfe.toml", "no_extension"),
                         [](const auto& test) { return "Name" + std::to_string(test.index); });

TEST(MpiJobFileName, IsTakenAsItIsByEveryRank) {
    const JobFolder job(3);
    const std::string bytes = job.output_of(0, {});
    std::filesystem::rename(job.path() / "job.toml", job.path() / "ação 'of' two\nlines.toml");
    const TemporaryFolder elsewhere;

    Process process(launch_words(2, {"run", job.path() / "ação 'of' two\nlines.toml"}), {.folder = elsewhere.path()});
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "labels.csv"), bytes);
    EXPECT_TRUE(names_in(elsewhere.path()).empty());
}

/// Where an output cannot go, and the part of the message that says why.
struct BadTarget {
    const char* setting;
    const char* reason;
};

void PrintTo(const BadTarget& target, std::ostream* stream) {
    *stream << target.setting;
}

class Target : public testing::TestWithParam<BadTarget> {};

TEST_P(Target, ThatCannotBeCreatedIsRefusedBeforeTheRun) {
    const JobFolder job(3);
    write_file(job.path() / "file", "");
    write_file(job.path() / "file.csv", "from somebody else");
    ASSERT_EQ(::mkfifo((job.path() / "pipe.csv").c_str(), 0600), 0);
    std::filesystem::create_directory(job.path() / "folder.csv");
    std::filesystem::create_symlink("file", job.path() / "link.csv");
    const std::vector<std::string> before = names_in(job.path());

    const ProcessResult result = job.run_alone({"--set", GetParam().setting});

    EXPECT_EQ(result.exit_code, 73) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr(GetParam().reason));
    EXPECT_EQ(names_in(job.path()), before);
    EXPECT_EQ(contents(job.path() / "file"), "");
    EXPECT_EQ(contents(job.path() / "file.csv"), "from somebody else");
}

INSTANTIATE_TEST_SUITE_P(Hostile, Target,
                         testing::Values(BadTarget{"output.path=file/labels.csv", "Not a directory"},
                                         BadTarget{"output.path=missing/labels.csv", "No such file"},
                                         BadTarget{"output.path=pipe.csv", "device or pipe"},
                                         BadTarget{"output.path=folder.csv", "folder"},
                                         BadTarget{"output.path=link.csv", "symbolic link"},
                                         BadTarget{"output.path=file.csv", "exists already"},
                                         BadTarget{"output.report=file/report.json", "Not a directory"},
                                         BadTarget{"output.report=missing/report.json", "No such file"},
                                         BadTarget{"output.report=folder.csv", "folder"},
                                         BadTarget{"output.report=pipe.csv", "device or pipe"},
                                         BadTarget{"output.report=link.csv", "symbolic link"}),
                         [](const auto& test) { return "Target" + std::to_string(test.index); });

TEST(JobPath, ThatOnlyAShellWouldExpandIsToldApart) {
    const JobFolder job(3);

    for (const char* const setting : {"input.path=$SCRATCH/in.txt", "model.weights=$SCRATCH/w.safetensors",
                                      "output.path=$SCRATCH/labels.csv", "output.report=$SCRATCH/report.json"}) {
        const ProcessResult run = job.run_alone({"--set", setting});

        EXPECT_NE(run.exit_code, 0) << setting;
        EXPECT_THAT(run.err, HasSubstr("'$SCRATCH' is taken as it is")) << setting;
    }
    Process command(launch_words(0, {"check", job.path() / "job.toml", "--set", "output.path=~/labels.csv"}),
                    {.folder = job.path()});
    const ProcessResult check = command.wait();
    EXPECT_EQ(check.exit_code, 73) << check.err;
    EXPECT_THAT(check.err, HasSubstr("'~' is taken as it is"));
}

TEST(MpiTarget, ThatCannotBeCreatedIsRefusedOnce) {
    const JobFolder job(3);

    const ProcessResult result = job.run_ranks(3, {"--set", "output.path=articles.txt/labels.csv"});

    EXPECT_EQ(result.exit_code, 73) << result.err;
    EXPECT_EQ(result.errors().size(), 1U) << result.err;
    job.expect_nothing_left();
}

TEST(MpiInput, ThatClaimsMoreItemsThanItHoldsIsRefusedOnce) {
    const JobFolder job(0);
    write_file(job.path() / "huge.npy", npy("|u1", "(18446744073709551615, 1014)", std::string(1014, 'x')));

    const ProcessResult result = job.run_ranks(3, {"--set", "input.path=huge.npy"});

    EXPECT_EQ(result.exit_code, 65) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("18446744073709551615 items"));
    std::filesystem::remove(job.path() / "huge.npy");
    job.expect_nothing_left();
}

}  // namespace
}  // namespace sluice::test
