#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/process.hpp"
#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A folder with a job, its complete output, and a run folder in which no attempt has written its status yet.
class Printing : public testing::Test {
protected:
    Printing() {
        std::ofstream(folder_.path() / "articles.txt") << "one\ntwo\nthree\n";
        std::ofstream(folder_.path() / "job.toml") << good_job;
        create_own_folder(folder_.path() / "begun.csv.sluice");
    }

    [[nodiscard]] ProcessResult sluice(std::vector<std::string> arguments, Stdout out) const {
        arguments.insert(arguments.begin(), SLUICE_PROGRAM);
        return Process(arguments, {.folder = folder_.path(), .out = out}).wait();
    }

    TemporaryFolder folder_;
};

const std::vector<std::vector<std::string>> printing_commands{
    {"--help"},
    {"--version"},
    {"run", "--help"},
    {"help", "keys"},
    {"apps"},
    {"apps", "--json"},
    {"check", "job.toml"},
    {"script", "job.toml"},
    {"submit", "job.toml", "--dry-run"},
    {"status", "begun.csv", "--json"},
    {"verify", "labels.csv"},
    {"stop-reason", "--plan", "begun.csv.sluice/plan.toml", "--srun-rc", "0"},
};

TEST_F(Printing, ToAFullDeviceIsAFailureOfCommandsThatPrint) {
    ASSERT_EQ(sluice({"run", "job.toml", "--quiet"}, Stdout::caught).exit_code, 0);

    for (const std::vector<std::string>& command : printing_commands) {
        const ProcessResult result = sluice(command, Stdout::full);

        EXPECT_EQ(result.exit_code, 74) << command.front();
        EXPECT_EQ(result.errors(),
                  std::vector<std::string>{"sluice: error[E-IO-002]: stdout: cannot write it: No space left on device"})
            << command.front();
    }
}

TEST_F(Printing, ToAReaderThatHasGoneAwayIsNoFailure) {
    ASSERT_EQ(sluice({"run", "job.toml", "--quiet"}, Stdout::caught).exit_code, 0);

    for (const std::vector<std::string>& command : printing_commands) {
        const ProcessResult result = sluice(command, Stdout::unread);

        EXPECT_EQ(result.exit_code, 0) << command.front() << result.err;
        EXPECT_EQ(result.err, "") << command.front();
    }
}

TEST_F(Printing, ToAClosedStreamIsNoFailureAndReachesNoOtherFile) {
    ASSERT_EQ(sluice({"run", "job.toml", "--quiet"}, Stdout::caught).exit_code, 0);

    for (const std::vector<std::string>& command : printing_commands) {
        const ProcessResult result = sluice(command, Stdout::closed);

        EXPECT_EQ(result.exit_code, 0) << command.front() << result.err;
        EXPECT_EQ(result.err, "") << command.front();
    }
}

TEST_F(Printing, AgainAndAgainEndsWhenNobodyCanReadIt) {
    EXPECT_EQ(sluice({"status", "begun.csv", "--watch"}, Stdout::unread).exit_code, 0);
    EXPECT_EQ(sluice({"status", "begun.csv", "--watch"}, Stdout::full).exit_code, 74);
}

TEST_F(Printing, OfARunThatHasWrittenItsFilesIsAWarning) {
    for (const char* command : {"run", "resume"}) {
        const ProcessResult result =
            sluice({command, command == std::string_view("run") ? "job.toml" : "labels.csv"}, Stdout::full);

        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("sluice: warning[W-IO-006]: stdout: cannot write it: No space left on "
                                          "device; the files are not affected\n"));
    }
    EXPECT_THAT(contents(folder_.path() / "labels.csv"), StartsWith("item,label\n0,"));
}

TEST_F(Printing, DoesNotHideTheFailureOfTheCommandItself) {
    const ProcessResult result = sluice({"verify", "begun.csv"}, Stdout::full);

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("error[E-OUT-111]"));
}

}  // namespace
}  // namespace sluice::test
