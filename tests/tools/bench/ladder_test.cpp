#include "tools/bench/ladder/ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/bench/ladder/energy_steps.hpp"
#include "tools/bench/ladder/report.hpp"

namespace sluice::ladder {
namespace {

using testing::HasSubstr;
using testing::Not;

const Report no_report = [](const RungResult&) {};

RungResult some_rung() {
    return {.number = 12,
            .name = "TMA & wgmma",
            .precision = "bf16",
            .m = 256,
            .n = 512,
            .k = 64,
            .error = 1e-3,
            .rate = {.tflops = 450, .single_tflops = 440.0, .clock_mhz = 1500.0},
            .peer = {.tflops = 600}};
}

/// Of 600 W, counted every 0.1 s and read every 7 ms, beside a part of a step at both ends.
TEST(EnergySteps, GiveThePowerBetweenTheFirstAndTheLast) {
    EnergySteps steps;
    constexpr double watts = 600;
    for (int reading = 0; reading < 71; ++reading) {
        const double seconds = 0.09 + 7e-3 * reading;
        steps.add(seconds, 1000 + watts * 0.1 * std::floor(seconds / 0.1));
    }
    ASSERT_TRUE(steps.watts());
    EXPECT_NEAR(*steps.watts(), watts, 0.02 * watts);
}

TEST(EnergySteps, NeedTwoOfThem) {
    EnergySteps steps;
    EXPECT_FALSE(steps.watts());
    for (const auto& [seconds, joules] : {std::pair(0.0, 5.0), {0.1, 5.0}, {0.2, 8.0}, {0.3, 8.0}}) {
        steps.add(seconds, joules);
        EXPECT_FALSE(steps.watts());
    }
    steps.add(0.4, 28.0);
    EXPECT_NEAR(steps.watts().value(), 100, 1e-9);
}

TEST(HostLadder, ComputesEveryRungRightAtOddSizes) {
    for (const auto& [m, n, k] :
         {std::array{1U, 1U, 1U}, {9U, 33U, 5U}, {67U, 31U, 300U}, {8U, 257U, 65U}, {1021U, 1U, 7U}}) {
        const LadderResult result = climb_host({.m = m, .n = n, .k = k, .seconds = 0}, no_report);

        EXPECT_EQ(result.rungs.size(), host_rung_numbers().size());
        for (const RungResult& rung : result.rungs) {
            EXPECT_TRUE(rung.right()) << rung.name << " at " << m << " x " << n << " x " << k << ": " << rung.error;
            EXPECT_GT(rung.rate.tflops, 0) << rung.name;
        }
    }
}

TEST(HostLadder, ComputesRightWhatIsAllButZero) {
    constexpr std::uint32_t cancelling = 35838;  // products that add up to nearly nothing: seeds are fixed

    for (const RungResult& rung : climb_host({.m = 1, .n = 1, .k = cancelling, .seconds = 0}, no_report).rungs) {
        EXPECT_TRUE(rung.right()) << rung.name << ": " << rung.error;
    }
}

TEST(HostLadder, RunsTheRungsThatAreAskedForAndReportsEach) {
    std::vector<std::uint32_t> reported;

    const LadderResult result = climb_host({.rungs = {0, 2}, .m = 8, .n = 8, .k = 8, .seconds = 0},
                                           [&](const RungResult& rung) { reported.push_back(rung.number); });

    EXPECT_THAT(reported, testing::ElementsAre(0, 2));
    EXPECT_EQ(result.rungs.size(), 2U);
}

TEST(LadderReport, SaysWhatIsRightWrongAndSkipped) {
    RungResult wrong = some_rung();
    wrong.error = 1e-2;
    RungResult unwritten = some_rung();
    unwritten.error = std::numeric_limits<double>::quiet_NaN();
    RungResult skipped = some_rung();
    skipped.skipped = "needs a Hopper GPU";

    EXPECT_TRUE(some_rung().right());
    EXPECT_FALSE(wrong.right());
    EXPECT_FALSE(unwritten.right());
    EXPECT_THAT(table_line(some_rung()), HasSubstr("450.000     75.0    440.0   1500        -   1.0e-03\n"));
    EXPECT_THAT(table_line(some_rung()), Not(HasSubstr("WRONG")));
    EXPECT_THAT(table_line(wrong), HasSubstr("WRONG"));
    EXPECT_THAT(table_line(unwritten), HasSubstr("WRONG"));
    EXPECT_THAT(table_line(skipped), HasSubstr("skipped: needs a Hopper GPU"));
}

TEST(LadderReport, SaysHowASizeIsComputedAndWhereTheLibraryHasNoProduct) {
    RungResult rung = some_rung();
    rung.path = "mma.sync 64x64, unaligned";
    rung.error_with_rounding = 0.037;
    RungResult lonely = some_rung();
    lonely.peer = {};

    const auto json = nlohmann::json::parse(json_of({.device = "a GPU", .peer = "a library", .rungs = {rung, lonely}}));

    EXPECT_THAT(table_line(rung), HasSubstr("1.0e-03  mma.sync 64x64, unaligned; rounding the operands: 3.7e-02\n"));
    EXPECT_THAT(table_line(lonely), HasSubstr("450.000        -    440.0"));
    EXPECT_EQ(json.at("rungs").at(0).at("path"), "mma.sync 64x64, unaligned");
    EXPECT_EQ(json.at("rungs").at(0).at("error_with_rounding"), 0.037);
    EXPECT_FALSE(json.at("rungs").at(1).contains("path"));
    EXPECT_FALSE(json.at("rungs").at(1).contains("error_with_rounding"));
    EXPECT_TRUE(json.at("rungs").at(1).at("percent").is_null());
}

TEST(LadderReport, GivesJsonWithNullForWhatIsNotKnown) {
    RungResult unwritten = some_rung();
    unwritten.error = std::numeric_limits<double>::quiet_NaN();
    const LadderResult result{.device = "a GPU", .peer = "a library", .rungs = {some_rung(), unwritten}};

    const auto json = nlohmann::json::parse(json_of(result));

    const auto& rung = json.at("rungs").at(0);
    EXPECT_EQ(rung.at("percent"), 75.0);
    EXPECT_EQ(rung.at("own").at("clock_mhz"), 1500.0);
    EXPECT_TRUE(rung.at("own").at("joules_a_tflop").is_null());
    EXPECT_TRUE(json.at("rungs").at(1).at("error").is_null());
    EXPECT_EQ(json.at("rungs").at(1).at("right"), false);
}

TEST(LadderReport, DrawsABarWithItsFiguresForEachRungThatRan) {
    RungResult metered = some_rung();
    metered.rate.joules_per_tflop = 1.054;
    RungResult lonely = some_rung();
    lonely.peer = {};
    lonely.rate = {.tflops = 0.05};

    const std::string picture = bars({.device = "a <GPU>", .peer = "a library", .rungs = {metered, lonely}});

    EXPECT_THAT(picture, HasSubstr("12 TMA &amp; wgmma (bf16)"));
    EXPECT_THAT(picture, HasSubstr("width=\"315.0\" height=\"16\" fill=\"#3a7d44\""));
    EXPECT_THAT(picture, HasSubstr(">75.0 %, 450 TFLOP/s, 1500 MHz, 1.05 J/TFLOP</text>"));
    EXPECT_THAT(picture, HasSubstr(">-, 0.050 TFLOP/s</text>"));
    EXPECT_THAT(picture, HasSubstr("a &lt;GPU&gt;"));
    EXPECT_THAT(picture, Not(HasSubstr("WRONG")));
    EXPECT_THAT(picture, Not(HasSubstr("<path")));
}

TEST(LadderReport, DrawsAWrongRungUnlikeARightOne) {
    RungResult wrong = some_rung();
    wrong.error = 1e-2;

    const std::string picture = bars({.device = "a GPU", .peer = "a library", .rungs = {wrong}});

    EXPECT_THAT(picture, HasSubstr(">WRONG, 75.0 %, 450 TFLOP/s, 1500 MHz</text>"));
    EXPECT_THAT(picture, HasSubstr("stroke-dasharray"));
    EXPECT_THAT(picture, Not(HasSubstr("#3a7d44")));
}

TEST(LadderReport, SaysInThePictureWhyARungWasSkipped) {
    RungResult skipped = some_rung();
    skipped.skipped = "k < 64";

    const std::string picture = bars({.device = "a GPU", .peer = "a library", .rungs = {skipped}});

    EXPECT_THAT(picture, HasSubstr("12 TMA &amp; wgmma (bf16)"));
    EXPECT_THAT(picture, HasSubstr(">skipped: k &lt; 64</text>"));
    EXPECT_THAT(picture, Not(HasSubstr("TFLOP")));
}

TEST(LadderReport, MarksABarThatIsLongerThanThePicture) {
    RungResult fits = some_rung();
    fits.rate.tflops = 690;
    RungResult longer = some_rung();
    longer.rate.tflops = 1000;

    EXPECT_THAT(bars({.device = "a GPU", .peer = "a library", .rungs = {fits}}), Not(HasSubstr("<path")));
    EXPECT_THAT(bars({.device = "a GPU", .peer = "a library", .rungs = {longer}}),
                AllOf(HasSubstr("width=\"483.0\""), HasSubstr("<path"), HasSubstr(">166.7 %, 1000 TFLOP/s")));
}

}  // namespace
}  // namespace sluice::ladder
