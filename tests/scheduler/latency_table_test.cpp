#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "tests/scheduler/run_reports.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::example_run;
using test::lines_of;
using test::row;
using testing::HasSubstr;
using testing::Not;

TEST(LatencyTable, NamesTheDeviceItsPrecisionAndWhyItIsNotAnother) {
    RunReport on_gpu = example_run(2);
    on_gpu.device = DeviceKind::cuda;
    on_gpu.precision = Precision::bf16;
    RunReport fallen_back = example_run(2);
    fallen_back.device_note = "no GPU: built without CUDA";

    EXPECT_THAT(lines_of(latency_table(on_gpu, TableForm::full)).at(1), testing::EndsWith("2 devices (cuda, bf16)"));
    EXPECT_THAT(lines_of(latency_table(fallen_back, TableForm::full)).at(1),
                testing::EndsWith("2 devices (host; no GPU: built without CUDA)"));
}

TEST(LatencyTable, SpeaksOfOneItem) {
    RunReport report = example_run(1);
    report.items = report.items_done = 1;

    EXPECT_THAT(lines_of(latency_table(report, TableForm::brief)).at(0), testing::StartsWith("1 item in 10.0 s: "));
}

TEST(LatencyTable, SaysHowManyItemsWereComputedAgain) {
    RunReport report = example_run(2);
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("certified:")));
    report.precision = Precision::certified;
    report.ranks[0].certification = Certification{.recomputed = 3, .recomputed_twice = 1, .bound = 0.0625};
    report.ranks[1].certification = Certification{.recomputed = 2, .recomputed_twice = 1, .bound = 0.03125};
    const double share = 500.0 / static_cast<double>(report.items_done);
    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr(fmt::format(
                    "certified: 5 items ({:.1f} %) computed again in tf32x3, 2 of them in fp32, their two best "
                    "scores closer than 0.062 of the scores' size\n",
                    share)));
    EXPECT_EQ(report_json(report, {}).at("run").at("certification"), (nlohmann::json{{"checked", nullptr},
                                                                                     {"corrected", nullptr},
                                                                                     {"recomputed", 5},
                                                                                     {"recomputed_twice", 2},
                                                                                     {"bound", 0.0625},
                                                                                     {"measure", "share"},
                                                                                     {"gap_bound", nullptr}}));
    for (RankReport& rank : report.ranks) {
        rank.certification->measure = Certification::Measure::draw;
        rank.certification->checks = {.checked = 4, .corrected = 3};
    }
    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr(fmt::format("certified: 8 items ({:.1f} %) checked in fp16x2, 6 of them corrected, 5 items "
                                      "({:.1f} %) computed again in tf32x3, 2 of them in fp32, ",
                                      8 * share / 5, share)));
    EXPECT_EQ(report_json(report, {}).at("run").at("certification").at("checked"), 8);
    EXPECT_EQ(report_json(report, {}).at("run").at("certification").at("corrected"), 6);
    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr(", a draw closer than 0.062 to another byte or token\n"));
    report.ranks[1].certification->gap_bound = 0.0078125;
    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr(" to another byte or token, or scores on both sides of a cut closer than 0.0078\n"));
    EXPECT_EQ(report_json(report, {}).at("run").at("certification").at("gap_bound"), 0.0078125);

    report.ranks[0].certification->bound = std::numeric_limits<double>::infinity();
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("all, because"));
    EXPECT_TRUE(report_json(report, {}).at("run").at("certification").at("bound").is_null());

    report.items_done = 0;
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("certified:"))) << "no item was looked at";
}

TEST(LatencyTable, SaysWhatTheAppCounted) {
    RunReport report = example_run(2);
    EXPECT_EQ(report_json(report, {}).at("run").at("counts"), nlohmann::json::object());
    const ModelCount ended{.name = "ended_early", .value = 20, .beside = ModelCount::Beside::share_of_items};
    report.ranks[0].counts = {{.name = "characters", .value = 6000}, ended};
    report.ranks[1].counts = {{.name = "characters", .value = 3000}, ended};
    const std::string share = fmt::format("{:.1f}", 4000.0 / static_cast<double>(report.items_done));

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("\ncharacters: 9000 (900/s), ended early: 40 (" + share + " %)\n"));
    EXPECT_EQ(report_json(report, {}).at("run").at("counts"),
              (nlohmann::json{{"characters", 9000}, {"ended_early", 40}}));
    report.ranks[0].breakdown.invalid = "finish is 3 ns before start";
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("\ncharacters: 9000, ended early"));
}

TEST(LatencyTable, SaysHowManyTextsWereCutIfTheAppCutsSome) {
    RunReport report = example_run(2);
    report.items_done = 400;
    report.ranks[1].counts = {{.name = "words", .value = 6000}};

    report.cut_texts = 100;
    EXPECT_THAT(latency_table(report, TableForm::brief), HasSubstr("), cut texts: 100 (25.0 %)\n"));
    EXPECT_EQ(report_json(report, {}).at("run").at("counts"), (nlohmann::json{{"words", 6000}, {"cut_texts", 100}}));

    report.cut_texts = 0;
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("cut texts")));
    EXPECT_EQ(report_json(report, {}).at("run").at("counts").at("cut_texts"), 0);

    report.cut_texts.reset();
    EXPECT_FALSE(report_json(report, {}).at("run").at("counts").contains("cut_texts"));
}

TEST(LatencyTable, StatesWhatRanHowFastAndHowWellTheClocksAgree) {
    const auto lines = lines_of(latency_table(example_run(2), TableForm::full));

    EXPECT_EQ(lines.at(0), "1000 items in 10.0 s: 100 items/s; steady 100 items/s, start-up 10.0 ms");
    EXPECT_EQ(lines.at(1), "16 chunks of up to 64 items, depth 3, overlap, pull; 2 ranks, 2 devices (host)");
    EXPECT_EQ(lines.at(2), "clocks aligned to ±3.1 µs (ping-pong, 32 rounds)");
    EXPECT_EQ(lines.at(3), "output: labels.csv");
    EXPECT_EQ(lines.at(4), "report: report.json");

    RunReport single = example_run(2);
    single.chunk_items = 1;
    EXPECT_THAT(lines_of(latency_table(single, TableForm::full)).at(1), HasSubstr(" of up to 1 item, "));
}

TEST(LatencyTable, FitsIntoADozenLinesOfItsBriefForm) {
    RunReport report = example_run(4);
    report.ranks[0].milestones.written = 9s;
    report.ranks[3].breakdown.stages[index_of(Stage::compute)].exposed = 1s;

    const std::string table = latency_table(report, TableForm::brief);

    EXPECT_LE(lines_of(table).size(), 18U) << table;
    EXPECT_THAT(row(table, "stage"), testing::ElementsAre("items/s", "busy", "exposed"));
    EXPECT_THAT(row(table, "compute"), testing::ElementsAre("111", "100.0", "%", "8.00", "s"));
    report.ranks[0].breakdown.instances.push_back({.stage = Stage::compute, .name = "device 1 (host)"});
    EXPECT_EQ(latency_table(report, TableForm::brief), table) << "a device without a chunk tells nothing of the others";
    EXPECT_THAT(table, HasSubstr("wall of rank 0: only compute 80.0 %, overlapped 10.0 %, waiting 10.0 %\n"));
    EXPECT_THAT(table, Not(HasSubstr("buffers ready")));
    EXPECT_THAT(lines_of(table).back(), HasSubstr("compute binds"));
}

TEST(LatencyTable, EndsWithTheVerdict) {
    EXPECT_EQ(lines_of(latency_table(example_run(1), TableForm::full)).back(),
              "compute binds: 100 of 111 items/s (90.0 %)");
}

TEST(LatencyTable, SaysWhatTheWholeJobTookWhenItHadSeveralAttempts) {
    RunReport report = example_run(1);
    report.attempts = {{.number = 1, .seconds = Seconds(2.5), .devices = 4, .items_done = 400},
                       {.number = 2, .seconds = Seconds(10), .devices = 2, .items_done = 600}};
    const std::string known = latency_table(report, TableForm::full);
    report.attempts[0].devices.reset();
    const std::string unknown = latency_table(report, TableForm::full);
    report.attempts.erase(report.attempts.begin());

    EXPECT_EQ(lines_of(known).at(1), "whole job: 2 attempts, 1000 items computed, 12.5 s, devices for 30.0 s");
    EXPECT_EQ(lines_of(unknown).at(1),
              "whole job: 2 attempts, 1000 items computed, 12.5 s, devices for at least 20.0 s");
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("whole job")));
}

TEST(LatencyTable, IsWithheldWhenTheTimersAreInvalid) {
    RunReport report = example_run(2);
    report.ranks[1].breakdown = Breakdown();
    report.ranks[1].breakdown.invalid = "device 0 (host), chunk 17: upload ends 12 ns before it begins";

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_THAT(table,
                HasSubstr("withheld because its times cannot be trusted: rank 1 on n1: device 0 (host), chunk 17: "
                          "upload ends 12 ns before it begins"));
    EXPECT_THAT(table, Not(HasSubstr("buffers ready")));
    EXPECT_EQ(lines_of(table).front(), "1000 items");
    EXPECT_EQ(lines_of(table).back(), "no verdict: the timers are invalid");
}

TEST(LatencyTable, SaysWhenTheRunIsPartial) {
    RunReport report = example_run(1);
    report.items_done = 400;

    EXPECT_EQ(lines_of(latency_table(report, TableForm::full)).front(),
              "PARTIAL: 400 of 1000 items in 10.0 s: 40.0 items/s; steady 40.0 items/s, start-up 10.0 ms");
}

TEST(LatencyTable, TellsWhatThisRunHasDoneFromWhatWasDoneBefore) {
    RunReport report = example_run(1);
    report.items_done = 400;
    report.items_before = 600;
    EXPECT_EQ(
        lines_of(latency_table(report, TableForm::full)).front(),
        "1000 of 1000 items: 400 in this run, 600 before; 10.0 s: 40.0 items/s; steady 40.0 items/s, start-up 10.0 ms");

    report.items_before = 100;
    EXPECT_EQ(lines_of(latency_table(report, TableForm::full)).front(),
              "PARTIAL: 500 of 1000 items: 400 in this run, 100 before; 10.0 s: 40.0 items/s; steady 40.0 items/s, "
              "start-up 10.0 ms");
}

TEST(LatencyTable, HoldsForARunWithoutItems) {
    RunReport report{.chunk_items = 64, .depth = 3, .ranks = {RankReport()}};

    const auto lines = lines_of(latency_table(report, TableForm::full));

    EXPECT_EQ(lines.front(), "0 items in 0.00 µs");
    EXPECT_EQ(lines.at(2), "one clock for all ranks");
    EXPECT_EQ(lines.back(), "nothing to do: 0 items");
}

TEST(LatencyTable, EscapesPathsThatWouldControlTheTerminal) {
    RunReport report = example_run(1);
    report.output_path = "out\x1b[2J.csv";

    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("output: out\\x1b[2J.csv\n"));
}

TEST(LatencyTable, ShowsLongPathsWhole) {
    RunReport report = example_run(1);
    report.output_path = "/scratch";
    for (int depth = 0; depth < 40; ++depth) {
        report.output_path += "/folder";
    }

    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("output: " + report.output_path + "\n"));
}

TEST(LatencyTable, ShowsAClockErrorInMilliseconds) {
    RunReport report = example_run(2);
    report.ranks[1].clock.error = 12'300us;

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("clocks aligned to ±12.300 ms (ping-pong, 32 rounds)\n"));
}

TEST(LatencyTable, TellsOfAClockThatNoStraightLineFits) {
    RunReport report = example_run(3);
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("drifts")));

    report.ranks[2].clock = {.error = 130us, .violation = 120us};

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("clocks aligned to ±130.0 µs (ping-pong, 32 rounds)\nNOTE: the clock "
                          "of rank 2 drifts unevenly: messages arrive up to 120.0 µs before "
                          "they were sent\n"));
}

TEST(LatencyTable, TellsOfManyUnevenClocksInALine) {
    RunReport report = example_run(3);
    report.ranks[1].clock = {.error = 60us, .violation = 50us};
    report.ranks[2].clock = {.error = 130us, .violation = 120us};

    const std::string table = latency_table(report, TableForm::brief);

    EXPECT_THAT(table, HasSubstr("NOTE: the clock of rank 2 drifts unevenly: messages arrive up to 120.0 µs before "
                                 "they were sent; so do 2 ranks' in all\n"));
    EXPECT_THAT(table, Not(HasSubstr("clock of rank 1")));
}

TEST(LatencyTable, ShowsTheFirstOfManyRanksThatAreLost) {
    RunReport report = example_run(1);
    for (int rank = 1; rank < 400; ++rank) {
        report.lost.push_back({.rank = rank, .host = "n1"});
    }

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_THAT(table, HasSubstr("rank 32 on n1"));
    EXPECT_THAT(table, Not(HasSubstr("rank 33 on n1")));
    EXPECT_THAT(table, HasSubstr("\nand 367 more ranks; the JSON report has every rank\n"));
}

TEST(LatencyTable, SpeaksOfOneClockOnlyWhereThereIsOne) {
    RunReport report = example_run(1);
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("\none clock for all ranks\n"));

    report.clock_rounds = 0;
    report.lost = {{.rank = 1, .host = "n1"}};

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("\ntimes are of rank 0's clock; those of the other ranks are lost\n"));
    EXPECT_EQ(report_json(report, {}).at("clocks").at("error"), nullptr);
}

TEST(LatencyTable, SaysNothingOfTheClocksOfOneRank) {
    EXPECT_THAT(latency_table(example_run(1), TableForm::full), Not(HasSubstr("ping-pong")));
}

TEST(LatencyTable, RefusesAReportThatCannotBe) {
    RunReport too_many = example_run(1);
    too_many.items_done = 1001;

    EXPECT_THROW((void)latency_table(RunReport{}, TableForm::full), ContractViolation);
    EXPECT_THROW((void)latency_table(too_many, TableForm::full), ContractViolation);
}

}  // namespace
}  // namespace sluice
