#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/commit/broken_protocols.hpp"
#include "tests/core/commit/harness.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int rounds = 100;
constexpr std::uint64_t different_results = 3;

// Undisturbed, each of them does what it should: only what the harness does to it brings its fault to light.
TEST(BrokenVariants, WorkWhileNothingHappens) {
    for (const auto attempt : {output_without_attempts, attempt_with_journal_first, attempt_with_rename}) {
        const RunFolder folder(small_job(OutputLayout::file));
        ASSERT_EQ(attempt_with("", [&] { attempt(folder, 0); }).exit_code, 0);
        EXPECT_EQ(problem_of(folder), "");
    }
}

TEST(BrokenVariants, OneWithoutAttemptsIsCaught) {
    const std::string problem =
        problem_with_zombies(OutputLayout::file, different_results, rounds, fresh_seed(), output_without_attempts);

    EXPECT_NE(problem, "");
    EXPECT_THAT(problem, Not(HasSubstr("exit code")));
}

TEST(BrokenVariants, OneThatWritesTheJournalBeforeTheDataIsCaught) {
    int kills = 0;

    const std::string problem = problem_after_kills(OutputLayout::file, attempt_with_journal_first, kills);

    EXPECT_THAT(problem, HasSubstr("other bytes than an undisturbed run's"));
}

TEST(BrokenVariants, OneThatRenamesOverWhatIsThereIsCaught) {
    const std::string problem =
        problem_with_zombies(OutputLayout::file, different_results, rounds, fresh_seed(), attempt_with_rename);

    EXPECT_NE(problem, "");
    EXPECT_THAT(problem, Not(HasSubstr("exit code")));
}

}  // namespace
}  // namespace sluice::test
