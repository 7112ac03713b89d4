#include <gtest/gtest.h>
#include <time.h>

#include "tests/core/commit/harness.hpp"

namespace sluice::test {
namespace {

class Kill : public testing::TestWithParam<OutputLayout> {
protected:
    /// A whole attempt with groups of a few chunks.
    static void attempt(const RunFolder& folder) { run_to_the_end(folder, folder.options(300)); }

    /// Runs attempts without any fault until nothing is to be done; the number of them is bounded by the test.
    static void finish(const RunFolder& folder, const std::string& story) {
        const ChildEnd end = attempt_with("", [&] { attempt(folder); });
        ASSERT_EQ(end.exit_code, 0) << story;
        ASSERT_EQ(problem_of(folder), "") << story;
    }
};

TEST_P(Kill, AtAnyPointLosesNothingAndDoublesNothing) {
    int kills = 0;

    const std::string problem = problem_after_kills(
        GetParam(), [](const RunFolder& folder, std::uint64_t) { attempt(folder); }, kills);

    EXPECT_EQ(problem, "");
    EXPECT_GT(kills, 100);
    RecordProperty("kills", kills);
}

TEST_P(Kill, AgainAndAgainLosesNothingAndDoublesNothing) {
    constexpr int most_kills = 30;
    const std::uint64_t seed = fresh_seed();
    std::mt19937_64 random(seed);
    const RunFolder trial(small_job(GetParam()));
    const std::uint64_t points = points_of([&] { attempt(trial); });
    for (int kills = 0; kills < most_kills;) {
        const RunFolder folder(small_job(GetParam()));
        std::string story = fmt::format("seed {}", seed);
        for (int left = 1 + static_cast<int>(random() % 6); left > 0; --left) {
            const std::string fault = fmt::format("any::{}=kill", 1 + random() % points);
            story += " " + fault;
            const ChildEnd end = attempt_with(fault, [&] { attempt(folder); });
            ASSERT_TRUE(end.exit_code == 0 || end.signal == SIGKILL) << story << " exit code " << end.exit_code;
            kills += end.signal == SIGKILL ? 1 : 0;
        }
        finish(folder, story);
    }
}

TEST_P(Kill, AtRandomMomentsLosesNothingAndDoublesNothing) {
    constexpr int rounds = 10;
    constexpr std::uint64_t longest = 4'000'000;  // nanoseconds: about what a run takes; a kill may come too late
    const std::uint64_t seed = fresh_seed();
    std::mt19937_64 random(seed);
    int kills = 0;
    for (int round = 0; round < rounds; ++round) {
        const RunFolder folder(small_job(GetParam()));
        for (int left = 4; left > 0; --left) {
            Child child([&] { attempt(folder); });
            const timespec moment{0, static_cast<long>(random() % longest)};
            ::nanosleep(&moment, nullptr);
            child.send(SIGKILL);
            const ChildEnd end = child.wait();
            ASSERT_TRUE(end.exit_code == 0 || end.signal == SIGKILL)
                << "seed " << seed << " exit code " << end.exit_code;
            kills += end.signal == SIGKILL ? 1 : 0;
        }
        finish(folder, fmt::format("seed {}", seed));
    }
    RecordProperty("kills", kills);
}

TEST_P(Kill, MeetsEveryFaultPoint) {
    const RunFolder folder(small_job(GetParam()));
    EXPECT_EQ(attempt_with("seal::1=kill", [&] { attempt(folder); }).signal, SIGKILL);

    const ChildEnd end = attempt_with("", [&] {
        disarm_faults();
        attempt(folder);
        for (const char* point : {"attempt.made",
                                  "adopt.listed",
                                  "adopt.copied",
                                  "data.written",
                                  "data.synced",
                                  "jrn.half",
                                  "jrn.written",
                                  "jrn.synced",
                                  "seal",
                                  "publish.link",
                                  "publish.manifest",
                                  "finalize",
                                  "close",
                                  "fdatasync",
                                  "fsync",
                                  "link",
                                  "mkdir",
                                  "open",
                                  "read",
                                  "rename",
                                  "stat",
                                  "unlink",
                                  "write"}) {
            expects(times_met(point) > 0, point);
        }
        const bool assembles = GetParam() == OutputLayout::file;
        expects((times_met("publish.assembled") > 0) == assembles, "publish.assembled");
        expects((times_met("copy") > 0) == assembles, "copy");
    });

    EXPECT_EQ(end.exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Kill, testing::Values(OutputLayout::file, OutputLayout::folder), name_of);

}  // namespace
}  // namespace sluice::test
