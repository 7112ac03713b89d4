#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ProcessResult sluice_with(const std::vector<std::string>& variables, const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"/usr/bin/env"};
    words.insert(words.end(), variables.begin(), variables.end());
    words.emplace_back(SLUICE_PROGRAM);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Process(words, {.folder = "/"}).wait();
}

/// What a shell under a launcher may have, and says of no other process.
const std::vector<std::vector<std::string>> numbers_alone{{"SLURM_PROCID=1"}, {"PMI_RANK=2"}, {"PMIX_RANK=1"}};

const std::vector<std::string> second_of_four{"SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=1", "PMIX_RANK=1"};

TEST(Speaking, IsUpToASingleProcessWhateverItsNumber) {
    for (const std::vector<std::string>& variables : numbers_alone) {
        for (const char* command : {"run", "resume", "exec", "doctor", "check", "status", "verify", "apps"}) {
            const ProcessResult result = sluice_with(variables, {command, "--no-such-option"});

            EXPECT_EQ(result.exit_code, 64) << variables.front() << " " << command;
            EXPECT_THAT(result.errors(), SizeIs(1)) << variables.front() << " " << command;
        }
    }
}

TEST(Speaking, OfASingleProcessThatResumesIsOfItsRun) {
    const ProcessResult result = sluice_with({"SLURM_PROCID=1"}, {"resume", "/no/such/output.csv"});

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("error[E-RUN-116]: /no/such/output.csv: "));
}

TEST(Speaking, IsUpToEachProcessOfACommandThatKnowsNoRanks) {
    const ProcessResult result = sluice_with(second_of_four, {"check", "/no/such/job.toml"});

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.errors(), SizeIs(1));
}

TEST(Speaking, IsLeftToTheFirstOfSeveralRanks) {
    for (const char* command : {"run", "resume", "exec", "doctor", "verify", "no-such-command"}) {
        const ProcessResult second = sluice_with(second_of_four, {command, "--no-such-option"});
        const ProcessResult first =
            sluice_with({"SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=0", "PMIX_RANK=0"}, {command, "--no-such-option"});

        EXPECT_EQ(second.exit_code, 64) << command;
        EXPECT_EQ(second.err, "") << command;
        EXPECT_EQ(first.exit_code, 64) << command;
        EXPECT_THAT(first.errors(), SizeIs(1)) << command;
    }
}

}  // namespace
}  // namespace sluice::test
