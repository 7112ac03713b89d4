#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "tests/core/commit/attempts.hpp"

namespace sluice::test {
namespace {

struct Failure {
    const char* error;
    std::set<int> codes;  ///< That an attempt may end with.
    OutputLayout layout;
};

void PrintTo(const Failure& failure, std::ostream* out) {
    *out << failure.error;
}

class DiskError : public testing::TestWithParam<Failure> {};

/// The n-th call fails, for every n until a run has fewer calls.
TEST_P(DiskError, AtAnyCallEndsTheAttemptAndTheNextOneFinishes) {
    const auto& [error, codes, layout] = GetParam();
    int failures = 0;
    for (int nth = 1;; ++nth) {
        const RunFolder folder(small_job(layout));
        const std::string fault = fmt::format("call::{}=errno:{}", nth, error);
        const ChildEnd end = attempt_with(fault, [&] {
            run_to_the_end(folder, folder.options(300));
            if (calls_met() < static_cast<std::uint64_t>(nth)) {
                ::_exit(nothing_failed);
            }
        });
        if (end.exit_code == 0 || end.exit_code == nothing_failed) {
            ASSERT_EQ(problem_of(folder), "") << fault;
        } else {
            ASSERT_TRUE(codes.contains(end.exit_code)) << fault << " exit code " << end.exit_code;
            ASSERT_TRUE(end.exit_code != 73 || !std::filesystem::exists(journal_file(folder.paths().attempt(1))))
                << fault << ": what has begun does not ask for another path";
            ++failures;
            ASSERT_EQ(attempt_with("", [&] { run_to_the_end(folder, folder.options(300)); }).exit_code, 0) << fault;
            ASSERT_EQ(problem_of(folder), "") << fault;
        }
        if (end.exit_code == nothing_failed) {
            break;
        }
    }
    RecordProperty("failures", failures);
    EXPECT_GT(failures, 30);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, DiskError,
    testing::Values(Failure{"ENOSPC", {74}, OutputLayout::file}, Failure{"ENOSPC", {74}, OutputLayout::folder},
                    Failure{"EDQUOT", {74}, OutputLayout::folder}, Failure{"EIO", {74}, OutputLayout::file},
                    Failure{"ESTALE", {74}, OutputLayout::folder}, Failure{"EFBIG", {74}, OutputLayout::file},
                    Failure{"EMFILE", {71}, OutputLayout::folder}, Failure{"EROFS", {73, 74}, OutputLayout::file}),
    [](const auto& test) {
        return std::string(test.param.error) + (test.param.layout == OutputLayout::file ? "File" : "Folder");
    });

class DiskErrorAtTheBeginning : public testing::TestWithParam<OutputLayout> {};

/// The n-th call fails, for every n until an attempt begins with fewer calls.
TEST_P(DiskErrorAtTheBeginning, LeavesNothingOfTheRun) {
    int failures = 0;
    int exit_code = 0;
    for (int nth = 1; exit_code != nothing_failed; ++nth) {
        const RunFolder folder(small_job(GetParam()));
        const std::string fault = fmt::format("call::{}=errno:ENOSPC", nth);
        exit_code = attempt_with(fault, [&] {
                        const CommittedOutput run(folder.options(300));
                        ::_exit(calls_met() < static_cast<std::uint64_t>(nth) ? nothing_failed : 0);
                    }).exit_code;
        if (exit_code != 0 && exit_code != nothing_failed) {
            ++failures;
            EXPECT_FALSE(std::filesystem::exists(folder.paths().run_folder())) << fault;
        }
    }
    EXPECT_GT(failures, 10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DiskErrorAtTheBeginning, testing::Values(OutputLayout::file, OutputLayout::folder),
                         name_of);

}  // namespace
}  // namespace sluice::test
