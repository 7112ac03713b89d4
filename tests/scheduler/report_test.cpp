#include "scheduler/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/run_reports.hpp"
#include "tests/support/files.hpp"
#include "tests/support/json_schema.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::example_run;
using testing::HasSubstr;

TEST(ReportFile, IsKnownForAReportWithOrWithoutItsFormat) {
    const RunReport report = example_run(2);
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
    const nlohmann::json json = report_json(example_run(2), {{"app", "classifier"}});

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
    EXPECT_EQ(report_json(example_run(300), {}).at("ranks").size(), 300U);
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
    RunReport report = example_run(2);
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
    for (RankReport& rank : report.ranks) {
        rank.breakdown.instances.front().of_device = true;
        rank.milestones.last_compute = {rank.rank == 0 ? 5s : 9s};
    }
    const auto whole = nlohmann::json::parse(report_file_text(report, nlohmann::json::object()));
    EXPECT_THAT(test::violations(schema, whole), testing::IsEmpty());
    EXPECT_EQ(whole.at("verdict").at("throttled").at("periods"), 9);
    EXPECT_EQ(whole.at("verdict").at("gpu_limits").at(0).at("limit"), "application_clocks");
    EXPECT_EQ(whole.at("gpu_cost").at("note"), "x");
    EXPECT_EQ(whole.at("verdict").at("tail").at("rank"), 1);
}

TEST(ReportJson, NamesInvalidTimersAndLeavesTheirTimesOut) {
    RunReport report = example_run(1);
    report.ranks[0].breakdown.invalid = "finish is 3 ns before start";

    const nlohmann::json json = report_json(report, {});

    EXPECT_EQ(json.at("timers").at("reason"), "rank 0 on n0: finish is 3 ns before start");
    EXPECT_EQ(json.at("run").at("wall"), nullptr);
    EXPECT_FALSE(json.at("ranks").at(0).contains("stages"));
    EXPECT_EQ(json.at("verdict").at("binding"), nullptr);
}

TEST(ReportJson, StaysReadableWhateverBytesAPathHolds) {
    RunReport report = example_run(1);
    report.output_path = "out\xff\n.csv";

    const std::string text = report_file_text(report, {});

    EXPECT_EQ(nlohmann::json::parse(text).at("run").at("output"), "out\xEF\xBF\xBD\n.csv");
    EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace sluice
