#include "tools/runtime/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <ostream>
#include <regex>
#include <string>
#include <vector>

namespace sluice {
namespace {

struct Line {
    std::uint64_t done;
    std::uint64_t total;
    double seconds;
    const char* text;

    friend std::ostream& operator<<(std::ostream& out, const Line& line) { return out << line.text; }
};

class ProgressText : public testing::TestWithParam<Line> {};

TEST_P(ProgressText, SaysHowFarAndHowLong) {
    const auto& [done, total, seconds, text] = GetParam();

    EXPECT_EQ(progress_text({.done = done, .total = total}, Seconds(seconds)), text);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, ProgressText,
    testing::Values(Line{0, 2000, 1.0, "0 of 2000 items (0.0 %)"}, Line{0, 0, 0.0, "0 of 0 items (100.0 %)"},
                    Line{500, 2000, 0.0, "500 of 2000 items (25.0 %)"},
                    Line{500, 2000, 1.0, "500 of 2000 items (25.0 %), 500 items/s, 0:03 left"},
                    Line{100, 7300, 1.0, "100 of 7300 items (1.4 %), 100 items/s, 1:12 left"},
                    Line{1, 7201, 1.0, "1 of 7201 items (0.0 %), 1.00 items/s, 2:00:00 left"},
                    Line{2000, 2000, 4.0, "2000 of 2000 items (100.0 %), 500 items/s, 0:00 left"}));

TEST(ProgressText, SaysAHundredPerCentOnlyOfAll) {
    EXPECT_EQ(progress_text({.done = 19'999, .total = 20'000}, Seconds(0)), "19999 of 20000 items (99.9 %)");
    EXPECT_EQ(progress_text({.done = 20'000, .total = 20'000, .is_estimated = true}, Seconds(0)),
              "20000 of about 20000 items (99.9 %)");
}

TEST(ProgressText, TellsWhatThisRunHasDoneFromWhatWasDoneBefore) {
    EXPECT_EQ(progress_text({.done = 812, .total = 2000, .before = 312}, Seconds(1)),
              "812 of 2000 items (40.6 %): 500 in this run, 312 before, 500 items/s, 0:02 left");
    EXPECT_EQ(progress_text({.done = 312, .total = 2000, .before = 312}, Seconds(1)),
              "312 of 2000 items (15.6 %): 0 in this run, 312 before");
}

TEST(ProgressLine, ComesSoonAtFirstAndThenEveryHalfMinute) {
    std::vector<double> lines;
    for (Seconds passed(0); lines.size() < 7; passed = next_line(passed)) {
        lines.push_back(next_line(passed).count());
    }

    EXPECT_EQ(lines, (std::vector<double>{2, 5, 10, 30, 60, 90, 120}));
    EXPECT_EQ(next_line(Seconds(1.9)).count(), 2);
    EXPECT_EQ(next_line(Seconds(29.999)).count(), 30);
    EXPECT_EQ(next_line(Seconds(3601)).count(), 3630);
}

std::string bar(std::size_t full) {
    return std::string(1, '[').append(full, '#').append(40 - full, '.').append("] ");
}

TEST(ProgressBar, FillsInProportion) {
    for (const std::uint64_t done : {0U, 500U, 1999U, 2000U}) {
        const std::string expected = bar(done * 40 / 2000) + progress_text({.done = done, .total = 2000}, Seconds(1));

        EXPECT_EQ(progress_bar({.done = done, .total = 2000}, Seconds(1), 200), expected);
    }
    EXPECT_EQ(progress_bar({}, Seconds(1), 200), bar(40) + progress_text({}, Seconds(1)));
}

TEST(ProgressBar, IsNeverWiderThanTheTerminal) {
    for (std::uint32_t columns = 0; columns < 150; ++columns) {
        for (const std::uint64_t done : {0U, 1U, 999U, 1000U}) {
            EXPECT_LE(progress_bar({.done = done, .total = 1000}, Seconds(2), columns).size(), columns);
        }
    }
}

TEST(ProgressBar, SaysHowLongOfAResumedRunOnATerminalOfUsualWidthToo) {
    const ItemCount items{.done = 65'536, .total = 3'000'000, .before = 32'768};

    const std::string text = "65536 of 3000000 items (2.2 %), 8192 items/s, 5:58 left";
    EXPECT_EQ(progress_bar(items, Seconds(4), 80), "[" + std::string(22, '.') + "] " + text);
    EXPECT_EQ(progress_bar(items, Seconds(4), static_cast<std::uint32_t>(text.size())), text);
    EXPECT_EQ(progress_bar(items, Seconds(4), 200), bar(0) + progress_text(items, Seconds(4)));
}

TEST(ProgressText, CountsTheTimeUntilTheFirstChunkIsDone) {
    EXPECT_EQ(progress_text({.done = 0, .total = 64}, Seconds(1.9)), "0 of 64 items (0.0 %)");
    EXPECT_EQ(progress_text({.done = 0, .total = 64}, Seconds(42)), "0 of 64 items (0.0 %), 0:42 so far");
    EXPECT_EQ(progress_text({.done = 312, .total = 2000, .before = 312}, Seconds(3700)),
              "312 of 2000 items (15.6 %): 0 in this run, 312 before, 1:01:40 so far");
    EXPECT_EQ(progress_text({.done = 64, .total = 64, .before = 64}, Seconds(42)),
              "64 of 64 items (100.0 %): 0 in this run, 64 before");
}

TEST(ProgressText, SaysWhatIsEstimated) {
    EXPECT_EQ(progress_text({.done = 500, .total = 2000, .is_estimated = true}, Seconds(0)),
              "500 of about 2000 items (25.0 %)");
}

TEST(ProgressBar, LeavesTheBarOutWhenThereIsNoRoom) {
    EXPECT_EQ(progress_bar({.done = 500, .total = 2000}, Seconds(0), 20),
              progress_text({.done = 500, .total = 2000}, Seconds(0)).substr(0, 20));
}

TEST(ProgressView, WritesALineOfALogWithItsTimeWhereNoTerminalIs) {
    testing::internal::CaptureStderr();
    ProgressView().show("812 of 2000 items");
    ProgressView().say("attempt 2 has begun");

    const std::string time = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)";
    EXPECT_TRUE(
        std::regex_match(testing::internal::GetCapturedStderr(),
                         std::regex(time + " sluice: 812 of 2000 items\n" + time + " sluice: attempt 2 has begun\n")));
}

TEST(Progress, EndsAtOnceWhenItsJobEnds) {
    std::atomic<std::uint64_t> done{0};
    {
        const Progress progress([&done] { return ItemCount{.done = done, .total = 10}; });
    }

    SUCCEED() << "the destructor does not wait for the next line";
}

}  // namespace
}  // namespace sluice
