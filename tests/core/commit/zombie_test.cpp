#include <gtest/gtest.h>

#include "tests/core/commit/harness.hpp"

namespace sluice::test {
namespace {

constexpr int overlaps = 100;  // of each layout and each kind of results

/// A whole attempt that takes every other one for dead.
void take_over(const RunFolder& folder, std::uint64_t variant) {
    CommittedOutputOptions options = folder.options(150);
    options.alive_within = std::chrono::seconds(0);
    run_to_the_end(folder, options, variant);
}

class Zombie : public testing::TestWithParam<OutputLayout> {};

TEST_P(Zombie, NeverChangesTheOutput) {
    EXPECT_EQ(problem_with_zombies(GetParam(), 1, overlaps, fresh_seed(), take_over), "");
}

TEST_P(Zombie, WithOtherResultsLeavesAMixByChunkThatTheManifestDescribes) {
    EXPECT_EQ(problem_with_zombies(GetParam(), 3, overlaps, fresh_seed(), take_over), "");
}

INSTANTIATE_TEST_SUITE_P(Layouts, Zombie, testing::Values(OutputLayout::file, OutputLayout::folder), name_of);

}  // namespace
}  // namespace sluice::test
