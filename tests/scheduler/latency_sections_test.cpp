#include "scheduler/latency_sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/scheduler/run_reports.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::example_rank;
using test::example_run;
using test::lines_of;
using test::row;
using testing::HasSubstr;
using testing::Not;

TEST(LatencySections, HasAColumnARankAndARowAnEvent) {
    const std::string table = latency_table(example_run(2, 2), TableForm::full);

    EXPECT_THAT(row(table, "start"), testing::ElementsAre("0.000", "0.001"));
    EXPECT_THAT(row(table, "buffers ready"), testing::ElementsAre("0.100", "0.100"));
    EXPECT_THAT(row(table, "devices ready"), testing::ElementsAre("0.200", "0.200"));
    EXPECT_THAT(row(table, "input scatter start"), testing::ElementsAre("0.300", "0.300"));
    EXPECT_THAT(row(table, "device 0 first compute"), testing::ElementsAre("10.000", "10.000"));
    EXPECT_THAT(row(table, "device 1 first compute"), testing::ElementsAre("20.000", "20.000"));
    EXPECT_THAT(row(table, "input scatter end"), testing::ElementsAre("5000.000", "-"));
    EXPECT_THAT(row(table, "compute end"), testing::ElementsAre("9000.000", "9000.000"));
    EXPECT_THAT(row(table, "results delivered"), testing::ElementsAre("9500.000", "9500.000"));
    EXPECT_THAT(row(table, "finish"), testing::ElementsAre("10000.000", "10000.000"));
}

TEST(LatencySections, TellsWhatTheGpusDriverTook) {
    RunReport report = example_run(2);
    report.ranks[1].milestones.driver_begin = 30us;
    report.ranks[1].milestones.driver_ready = 250ms;

    const std::string table = latency_table(report, TableForm::full);
    const nlohmann::json ranks = report_json(report, {}).at("ranks");

    EXPECT_THAT(row(table, "driver ready"), testing::ElementsAre("-", "250.000"));
    EXPECT_THAT(row(table, "driver   start"), testing::ElementsAre("-", "249.970"));
    EXPECT_THAT(latency_table(example_run(2), TableForm::full), Not(HasSubstr("driver"))) << "of hosts";
    EXPECT_TRUE(ranks.at(0).at("milestones").at("driver_ready").is_null());
    EXPECT_EQ(ranks.at(1).at("milestones").at("driver_begin"), 30e-6);
    EXPECT_EQ(ranks.at(1).at("milestones").at("driver_ready"), 0.25);
}

TEST(LatencySections, ShowsHowLongEachStageWasAtWorkAndByItself) {
    const std::string table = latency_table(example_run(1), TableForm::full);

    EXPECT_THAT(row(table, "compute  busy"), testing::ElementsAre("18000.000"));
    EXPECT_THAT(row(table, "compute  active"), testing::ElementsAre("9000.000"));
    EXPECT_THAT(row(table, "compute  exposed"), testing::ElementsAre("8000.000"));
    EXPECT_THAT(table, Not(HasSubstr("gather"))) << "it moved nothing";
}

TEST(LatencySections, ListsEventsInTheOrderOfTime) {
    RunReport report = example_run(2);
    report.ranks[0].milestones.scatter_end = 9100ms;

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_LT(table.find("compute end"), table.find("input scatter end"));
    EXPECT_LT(table.find("input scatter end"), table.find("results delivered"));
}

TEST(LatencySections, PrintsWallRowsThatAddUpToTheLastDigit) {
    std::mt19937 random(11);
    std::uniform_int_distribution<std::int64_t> duration(0, 3'000'000);
    for (int round = 0; round < 200; ++round) {
        RunReport report = example_run(1);
        WallView& wall = report.ranks[0].breakdown.wall;
        for (nanoseconds& time : wall.stages) {
            time = nanoseconds(duration(random));
        }
        wall.stages[index_of(Stage::upload)] = 0ns;
        for (nanoseconds& time : wall.phases) {
            time = nanoseconds(duration(random));
        }
        wall.overlapped = nanoseconds(duration(random));
        wall.waiting = nanoseconds(duration(random));

        const std::string table = latency_table(report, TableForm::full);
        const std::string view = table.substr(table.find("wall (ms"));

        std::int64_t sum = 0;
        std::int64_t total = 0;
        for (const std::string& line : lines_of(view)) {
            const bool is_row = line.starts_with("only ") || line.starts_with("(") || line.starts_with("overlapped") ||
                                line.starts_with("waiting") || line.starts_with("total");
            if (!is_row) {
                continue;
            }
            const std::int64_t microseconds = std::llround(std::stod(line.substr(line.find_last_of(' '))) * 1e3);
            (line.starts_with("total") ? total : sum) += microseconds;
            if (line.starts_with("total")) {
                break;
            }
        }
        ASSERT_EQ(sum, total);
        ASSERT_THAT(view, Not(HasSubstr("only upload")));
    }
}

TEST(LatencySections, SummarisesMoreThanEightDevices) {
    const std::string table = latency_table(example_run(1, 9), TableForm::full);

    EXPECT_THAT(row(table, "first device first compute"), testing::ElementsAre("10.000"));
    EXPECT_THAT(row(table, "median device first compute"), testing::ElementsAre("50.000"));
    EXPECT_THAT(row(table, "last device first compute"), testing::ElementsAre("90.000"));
    EXPECT_THAT(table, Not(HasSubstr("device 8")));
}

TEST(LatencySections, ShowsADashForDevicesThatARankDoesNotHave) {
    RunReport report = example_run(1, 2);
    report.ranks.push_back(example_rank(1, "n1", 0));

    EXPECT_THAT(row(latency_table(report, TableForm::full), "device 1 first compute"),
                testing::ElementsAre("20.000", "-"));
}

TEST(LatencySections, WrapsAfterEightRanks) {
    const std::string table = latency_table(example_run(9), TableForm::full);

    EXPECT_THAT(row(table, "event (ms since the start)"),
                testing::ElementsAre("rank", "0", "rank", "1", "rank", "2", "rank", "3", "rank", "4", "rank", "5",
                                     "rank", "6", "rank", "7"));
    EXPECT_THAT(table, testing::ContainsRegex("\nevent \\(ms since the start\\) +rank 8\n"));
    for (const std::string& line : lines_of(table)) {
        EXPECT_LE(line.size(), 132U) << line;
    }
}

TEST(LatencySections, NamesTheExtremeRanksWhenThereAreVeryMany) {
    RunReport report = example_run(65);
    report.ranks[41].milestones.finish = 12s;
    report.ranks[7].milestones.finish = 8s;

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_THAT(row(table, "finish"),
                testing::ElementsAre("10000.000", "8000.000", "(7)", "10000.000", testing::_, "12000.000", "(41)"));
    EXPECT_THAT(row(table, "input scatter end"),
                testing::ElementsAre("5000.000", "5000.000", "(0)", "5000.000", "(0)", "5000.000", "(0)"));
    EXPECT_THAT(table, HasSubstr("the JSON report has every rank"));
}

TEST(LatencySections, StaysAlignedWithLongHostNames) {
    RunReport report = example_run(2);
    report.ranks[1].host = "a-very-long-host-name.cluster.example.org";

    const auto lines = lines_of(latency_table(report, TableForm::full));

    const auto title = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("event"); });
    ASSERT_LT(title + 2, lines.end());
    EXPECT_EQ(title->size(), (title + 2)->size());
    EXPECT_THAT(*(title + 1), HasSubstr("a-very-long…"));
}

}  // namespace
}  // namespace sluice
