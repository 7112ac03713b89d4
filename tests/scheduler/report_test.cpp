#include "scheduler/report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "core/error.hpp"

#include "tests/support/files.hpp"
#include "tests/support/json_schema.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::HasSubstr;
using testing::Not;

RankReport rank_of(int rank, std::string host, std::size_t devices) {
    RankReport report;
    report.rank = rank;
    report.host = std::move(host);
    report.milestones = {.start = rank * 1us,
                         .buffers_ready = 100us,
                         .devices_ready = 200us,
                         .scatter_begin = 300us,
                         .scatter_end = rank == 0 ? RelativeMilestones::Moment(nanoseconds(5s)) : std::nullopt,
                         .first_compute = {},
                         .compute_end = 9s,
                         .delivered = 9500ms,
                         .finish = 10s};
    for (std::size_t device = 0; device < devices; ++device) {
        report.milestones.first_compute.emplace_back((static_cast<int>(device) + 1) * 10ms);
        report.breakdown.instances.push_back({Stage::compute, "device", 9s, 1000, 0});
    }
    report.breakdown.run = 10s;
    report.breakdown.stages[index_of(Stage::compute)] = {
        .busy = 18s, .active = 9s, .exposed = 8s, .chunks = 3, .items = 1000};
    report.breakdown.wall.stages[index_of(Stage::compute)] = 8s;
    report.breakdown.wall.overlapped = 1s;
    report.breakdown.wall.phases[static_cast<std::size_t>(Phase::devices)] = 200us;
    report.breakdown.wall.waiting = 10s - 9s - 200us;
    return report;
}

RunReport run_of(int ranks, std::size_t devices = 1) {
    RunReport report{.items = 1000,
                     .items_done = 1000,
                     .chunks = 16,
                     .chunk_items = 64,
                     .depth = 3,
                     .ranks = {},
                     .clock_rounds = 32,
                     .output_path = "labels.csv",
                     .report_path = "report.json"};
    for (int rank = 0; rank < ranks; ++rank) {
        report.ranks.push_back(rank_of(rank, fmt::format("n{}", rank), devices));
        report.ranks.back().clock.error = rank == 0 ? 0ns : 3140ns;
    }
    return report;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// The words after `label` in the first line that starts with it.
std::vector<std::string> row(const std::string& text, const std::string& label) {
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with(fmt::format("{}  ", label))) {
            std::istringstream cells(line.substr(label.size()));
            return {std::istream_iterator<std::string>(cells), {}};
        }
    }
    return {};
}

TEST(LatencyTable, HasAColumnARankAndARowAnEvent) {
    const std::string table = latency_table(run_of(2, 2), TableForm::full);

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

TEST(LatencyTable, TellsWhatTheGpusDriverTook) {
    RunReport report = run_of(2);
    report.ranks[1].milestones.driver_begin = 30us;
    report.ranks[1].milestones.driver_ready = 250ms;

    const std::string table = latency_table(report, TableForm::full);
    const nlohmann::json ranks = report_json(report, {}).at("ranks");

    EXPECT_THAT(row(table, "driver ready"), testing::ElementsAre("-", "250.000"));
    EXPECT_THAT(row(table, "driver   start"), testing::ElementsAre("-", "249.970"));
    EXPECT_THAT(latency_table(run_of(2), TableForm::full), Not(HasSubstr("driver"))) << "of hosts";
    EXPECT_TRUE(ranks.at(0).at("milestones").at("driver_ready").is_null());
    EXPECT_EQ(ranks.at(1).at("milestones").at("driver_begin"), 30e-6);
    EXPECT_EQ(ranks.at(1).at("milestones").at("driver_ready"), 0.25);
}

TEST(LatencyTable, NamesTheDeviceItsPrecisionAndWhyItIsNotAnother) {
    RunReport on_gpu = run_of(2);
    on_gpu.device = DeviceKind::cuda;
    on_gpu.precision = Precision::bf16;
    RunReport fallen_back = run_of(2);
    fallen_back.device_note = "no GPU: built without CUDA";

    EXPECT_THAT(lines_of(latency_table(on_gpu, TableForm::full)).at(1), testing::EndsWith("2 devices (cuda, bf16)"));
    EXPECT_THAT(lines_of(latency_table(fallen_back, TableForm::full)).at(1),
                testing::EndsWith("2 devices (host; no GPU: built without CUDA)"));
}

TEST(LatencyTable, SaysHowManyItemsWereComputedAgain) {
    RunReport report = run_of(2);
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
    EXPECT_EQ(report_json(report, {}).at("run").at("certification"),
              (nlohmann::json{{"recomputed", 5}, {"recomputed_twice", 2}, {"bound", 0.0625}, {"measure", "share"}}));
    for (RankReport& rank : report.ranks) {
        rank.certification->measure = Certification::Measure::draw;
    }
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr(", a draw closer than 0.062 to another byte or token\n"));

    report.ranks[0].certification->bound = std::numeric_limits<double>::infinity();
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("all, because"));
    EXPECT_TRUE(report_json(report, {}).at("run").at("certification").at("bound").is_null());
}

TEST(LatencyTable, SaysWhatTheAppCounted) {
    RunReport report = run_of(2);
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

TEST(LatencyTable, StatesWhatRanHowFastAndHowWellTheClocksAgree) {
    const auto lines = lines_of(latency_table(run_of(2), TableForm::full));

    EXPECT_EQ(lines.at(0), "1000 items in 10.0 s: 100 items/s; steady 100 items/s, start-up 10.0 ms");
    EXPECT_EQ(lines.at(1), "16 chunks of up to 64 items, depth 3, overlap, pull; 2 ranks, 2 devices (host)");
    EXPECT_EQ(lines.at(2), "clocks aligned to ±3.1 µs (ping-pong, 32 rounds)");
    EXPECT_EQ(lines.at(3), "output: labels.csv");
    EXPECT_EQ(lines.at(4), "report: report.json");
}

TEST(LatencyTable, ShowsHowLongEachStageWasAtWorkAndByItself) {
    const std::string table = latency_table(run_of(1), TableForm::full);

    EXPECT_THAT(row(table, "compute  busy"), testing::ElementsAre("18000.000"));
    EXPECT_THAT(row(table, "compute  active"), testing::ElementsAre("9000.000"));
    EXPECT_THAT(row(table, "compute  exposed"), testing::ElementsAre("8000.000"));
    EXPECT_THAT(table, Not(HasSubstr("gather"))) << "it moved nothing";
}

TEST(LatencyTable, FitsIntoADozenLinesOfItsBriefForm) {
    RunReport report = run_of(4);
    report.ranks[0].milestones.written = 9s;

    const std::string table = latency_table(report, TableForm::brief);

    EXPECT_LE(lines_of(table).size(), 18U) << table;
    EXPECT_THAT(row(table, "stage"), testing::ElementsAre("items/s", "busy", "exposed"));
    EXPECT_THAT(row(table, "compute"), testing::ElementsAre("111", "100.0", "%", "8.00", "s"));
    EXPECT_THAT(table, HasSubstr("wall of rank 0: only compute 80.0 %, overlapped 10.0 %, waiting 10.0 %\n"));
    EXPECT_THAT(table, Not(HasSubstr("buffers ready")));
    EXPECT_THAT(lines_of(table).back(), HasSubstr("compute binds"));
}

TEST(LatencyTable, ListsEventsInTheOrderOfTime) {
    RunReport report = run_of(2);
    report.ranks[0].milestones.scatter_end = 9100ms;

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_LT(table.find("compute end"), table.find("input scatter end"));
    EXPECT_LT(table.find("input scatter end"), table.find("results delivered"));
}

TEST(LatencyTable, EndsWithTheVerdict) {
    EXPECT_EQ(lines_of(latency_table(run_of(1), TableForm::full)).back(), "compute binds: 100 of 111 items/s (90.0 %)");
}

TEST(LatencyTable, SaysWhatTheWholeJobTookWhenItHadSeveralAttempts) {
    RunReport report = run_of(1);
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

TEST(LatencyTable, PrintsWallRowsThatAddUpToTheLastDigit) {
    std::mt19937 random(11);
    std::uniform_int_distribution<std::int64_t> duration(0, 3'000'000);
    for (int round = 0; round < 200; ++round) {
        RunReport report = run_of(1);
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

TEST(LatencyTable, SummarisesMoreThanEightDevices) {
    const std::string table = latency_table(run_of(1, 9), TableForm::full);

    EXPECT_THAT(row(table, "first device first compute"), testing::ElementsAre("10.000"));
    EXPECT_THAT(row(table, "median device first compute"), testing::ElementsAre("50.000"));
    EXPECT_THAT(row(table, "last device first compute"), testing::ElementsAre("90.000"));
    EXPECT_THAT(table, Not(HasSubstr("device 8")));
}

TEST(LatencyTable, ShowsADashForDevicesThatARankDoesNotHave) {
    RunReport report = run_of(1, 2);
    report.ranks.push_back(rank_of(1, "n1", 0));

    EXPECT_THAT(row(latency_table(report, TableForm::full), "device 1 first compute"),
                testing::ElementsAre("20.000", "-"));
}

TEST(LatencyTable, WrapsAfterEightRanks) {
    const std::string table = latency_table(run_of(9), TableForm::full);

    EXPECT_THAT(row(table, "event (ms since the start)"),
                testing::ElementsAre("rank", "0", "rank", "1", "rank", "2", "rank", "3", "rank", "4", "rank", "5",
                                     "rank", "6", "rank", "7"));
    EXPECT_THAT(table, testing::ContainsRegex("\nevent \\(ms since the start\\) +rank 8\n"));
    for (const std::string& line : lines_of(table)) {
        EXPECT_LE(line.size(), 132U) << line;
    }
}

TEST(LatencyTable, NamesTheExtremeRanksWhenThereAreVeryMany) {
    RunReport report = run_of(65);
    report.ranks[41].milestones.finish = 12s;
    report.ranks[7].milestones.finish = 8s;

    const std::string table = latency_table(report, TableForm::full);

    EXPECT_THAT(row(table, "finish"),
                testing::ElementsAre("10000.000", "8000.000", "(7)", "10000.000", testing::_, "12000.000", "(41)"));
    EXPECT_THAT(row(table, "input scatter end"),
                testing::ElementsAre("5000.000", "5000.000", "(0)", "5000.000", "(0)", "5000.000", "(0)"));
    EXPECT_THAT(table, HasSubstr("the JSON report has every rank"));
}

TEST(LatencyTable, StaysAlignedWithLongHostNames) {
    RunReport report = run_of(2);
    report.ranks[1].host = "a-very-long-host-name.cluster.example.org";

    const auto lines = lines_of(latency_table(report, TableForm::full));

    const auto title = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("event"); });
    ASSERT_LT(title + 2, lines.end());
    EXPECT_EQ(title->size(), (title + 2)->size());
    EXPECT_THAT(*(title + 1), HasSubstr("a-very-long…"));
}

TEST(LatencyTable, IsWithheldWhenTheTimersAreInvalid) {
    RunReport report = run_of(2);
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
    RunReport report = run_of(1);
    report.items_done = 400;

    EXPECT_EQ(lines_of(latency_table(report, TableForm::full)).front(),
              "PARTIAL: 400 of 1000 items in 10.0 s: 40.0 items/s; steady 40.0 items/s, start-up 10.0 ms");
}

TEST(LatencyTable, TellsWhatThisRunHasDoneFromWhatWasDoneBefore) {
    RunReport report = run_of(1);
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
    RunReport report = run_of(1);
    report.output_path = "out\x1b[2J.csv";

    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("output: out\\x1b[2J.csv\n"));
}

TEST(LatencyTable, ShowsLongPathsWhole) {
    RunReport report = run_of(1);
    report.output_path = "/scratch";
    for (int depth = 0; depth < 40; ++depth) {
        report.output_path += "/folder";
    }

    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("output: " + report.output_path + "\n"));
}

TEST(LatencyTable, ShowsAClockErrorInMilliseconds) {
    RunReport report = run_of(2);
    report.ranks[1].clock.error = 12'300us;

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("clocks aligned to ±12.300 ms (ping-pong, 32 rounds)\n"));
}

TEST(LatencyTable, TellsOfAClockThatNoStraightLineFits) {
    RunReport report = run_of(3);
    EXPECT_THAT(latency_table(report, TableForm::full), Not(HasSubstr("drifts")));

    report.ranks[2].clock = {.error = 130us, .violation = 120us};

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("clocks aligned to ±130.0 µs (ping-pong, 32 rounds)\nNOTE: the clock "
                          "of rank 2 drifts unevenly: messages arrive up to 120.0 µs before "
                          "they were sent\n"));
}

TEST(LatencyTable, SpeaksOfOneClockOnlyWhereThereIsOne) {
    RunReport report = run_of(1);
    EXPECT_THAT(latency_table(report, TableForm::full), HasSubstr("\none clock for all ranks\n"));

    report.clock_rounds = 0;
    report.lost = {{.rank = 1, .host = "n1"}};

    EXPECT_THAT(latency_table(report, TableForm::full),
                HasSubstr("\ntimes are of rank 0's clock; those of the other ranks are lost\n"));
    EXPECT_EQ(report_json(report, {}).at("clocks").at("error"), nullptr);
}

TEST(LatencyTable, SaysNothingOfTheClocksOfOneRank) {
    EXPECT_THAT(latency_table(run_of(1), TableForm::full), Not(HasSubstr("ping-pong")));
}

TEST(LatencyTable, RefusesAReportThatCannotBe) {
    RunReport too_many = run_of(1);
    too_many.items_done = 1001;

    EXPECT_THROW((void)latency_table(RunReport{}, TableForm::full), ContractViolation);
    EXPECT_THROW((void)latency_table(too_many, TableForm::full), ContractViolation);
}

TEST(ReportFile, IsKnownForAReportWithOrWithoutItsFormat) {
    const RunReport report = run_of(2);
    const std::string text = report_file_text(report, "");

    EXPECT_TRUE(text.starts_with("{\n  \"format\": \"sluice report\""));
    EXPECT_TRUE(is_report(text));
    EXPECT_TRUE(is_report(text.substr(0, 100)));
    nlohmann::json more = report_json(report, "");
    for (const char* const newer : {"job", "attempts", "provenance", "input", "links", "gpu_cost", "roofline"}) {
        more.erase(newer);
    }
    EXPECT_TRUE(is_report(more.dump()));  // as reports were written before they had a format
    more["notes"] = "";
    for (const std::string& other : {std::string(), std::string("{}"), std::string("[]"), text.substr(0, 20),
                                     std::string("{\"format\": \"sluice manifest\"}"), more.dump()}) {
        EXPECT_FALSE(is_report(other)) << other;
    }
}

TEST(ReportJson, HoldsWhatTheTableHoldsAndTheConfiguration) {
    const nlohmann::json json = report_json(run_of(2), {{"app", "classifier"}});

    EXPECT_EQ(json.at("schema"), 2);
    EXPECT_EQ(json.at("config").at("app"), "classifier");
    EXPECT_EQ(json.at("run").at("items"), 1000);
    EXPECT_EQ(json.at("run").at("partial"), false);
    EXPECT_EQ(json.at("run").at("wall"), 10.0);
    EXPECT_EQ(json.at("run").at("throughput"), 100.0);
    EXPECT_EQ(json.at("run").at("distribution"), "pull");
    EXPECT_EQ(json.at("clocks").at("rounds"), 32);
    EXPECT_EQ(json.at("clocks").at("error"), 3.14e-6);
    EXPECT_EQ(json.at("ranks").at(1).at("clock").at("error"), 3.14e-6);
    EXPECT_EQ(json.at("timers").at("valid"), true);
    const nlohmann::json& second = json.at("ranks").at(1);
    EXPECT_EQ(second.at("host"), "n1");
    EXPECT_EQ(second.at("milestones").at("start"), 1e-6);
    EXPECT_EQ(second.at("milestones").at("scatter_end"), nullptr);
    EXPECT_EQ(second.at("stages").at("compute").at("busy"), 18.0);
    EXPECT_EQ(second.at("wall").at("total"), 10.0);
    EXPECT_EQ(json.at("verdict").at("binding"), "compute");
    EXPECT_EQ(json.at("verdict").at("text"), "compute binds: 100 of 111 items/s (90.0 %)");
}

TEST(ReportJson, HoldsEveryRankHoweverMany) {
    EXPECT_EQ(report_json(run_of(300), {}).at("ranks").size(), 300U);
}

void add_keys(const nlohmann::json& json, std::set<std::string>& keys) {
    for (const auto& [key, value] : json.items()) {
        if (json.is_object()) {
            keys.insert(key);
        }
        if (value.is_structured()) {
            add_keys(value, keys);
        }
    }
}

/// With all that a report may hold.
RunReport full_report() {
    RunReport report = run_of(2);
    report.precision = Precision::certified;
    report.ranks[0].certification = Certification{};
    report.lost.push_back({.rank = 1, .host = "n1", .chunks = 1, .items = 64});
    report.attempts.push_back({.number = 1});
    report.links.push_back({.rank = 1, .to_rank = 5, .sending = 1s, .peak = 7.0});
    report.ranks[0].facts.throttling = {.periods = 9, .throttled = 8, .time = 7s};
    report.ranks[0].facts.gpus = {"NVIDIA H200"};
    GpuUse use{.gpu = "GPU-a", .samples = 1, .time = 1s, .limit_shares = std::vector(gpu_limits.size(), 1.0)};
    use.clock_mhz = {.least = 1, .mean = 2, .most = 3};
    report.ranks[0].facts.gpu_uses = {.gpus = {use}, .note = "x"};
    return report;
}

TEST(ReportJson, HasEveryKeyInTheDocumentation) {
    std::ifstream file(SLUICE_SOURCE_DIR "/docs/latency-table.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};

    std::set<std::string> keys;
    add_keys(report_json(full_report(), {}), keys);

    EXPECT_TRUE(keys.contains("recomputed_twice") && keys.contains("lost") && keys.contains("power_cap"));
    for (const std::string& key : keys) {
        EXPECT_THAT(page, HasSubstr(key));
    }
}

TEST(ReportJson, HoldsToItsSchema) {
    const auto schema = nlohmann::json::parse(test::contents(SLUICE_SOURCE_DIR "/docs/report.schema.json"));
    RunReport report = full_report();
    EXPECT_THAT(test::violations(schema, nlohmann::json::parse(report_file_text(report, nlohmann::json::object()))),
                testing::IsEmpty());

    report.lost.clear();
    const auto whole = nlohmann::json::parse(report_file_text(report, nlohmann::json::object()));
    EXPECT_THAT(test::violations(schema, whole), testing::IsEmpty());
    EXPECT_EQ(whole.at("verdict").at("throttled").at("periods"), 9);
    EXPECT_EQ(whole.at("verdict").at("gpu_limits").at(0).at("limit"), "application_clocks");
    EXPECT_EQ(whole.at("gpu_cost").at("note"), "x");
}

TEST(ReportJson, NamesInvalidTimersAndLeavesTheirTimesOut) {
    RunReport report = run_of(1);
    report.ranks[0].breakdown.invalid = "finish is 3 ns before start";

    const nlohmann::json json = report_json(report, {});

    EXPECT_EQ(json.at("timers").at("reason"), "rank 0 on n0: finish is 3 ns before start");
    EXPECT_EQ(json.at("run").at("wall"), nullptr);
    EXPECT_FALSE(json.at("ranks").at(0).contains("stages"));
    EXPECT_EQ(json.at("verdict").at("binding"), nullptr);
}

TEST(ReportJson, StaysReadableWhateverBytesAPathHolds) {
    RunReport report = run_of(1);
    report.output_path = "out\xff\n.csv";

    const std::string text = report_file_text(report, {});

    EXPECT_EQ(nlohmann::json::parse(text).at("run").at("output"), "out\xEF\xBF\xBD\n.csv");
    EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace sluice
