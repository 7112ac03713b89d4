#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

std::int64_t nanoseconds(const json& seconds) {
    return std::llround(seconds.get<double>() * 1e9);
}

/// Since no two of these happen in another order on one device: a rank without a chunk lacks some.
void expect_ordered_milestones(const json& at) {
    std::vector<json> moments{
        at.at("start"),       at.at("buffers_ready"), at.at("scatter_begin"), at.at("first_compute").at(0),
        at.at("compute_end"), at.at("delivered"),     at.at("finish")};
    std::erase(moments, json());
    for (std::size_t i = 1; i < moments.size(); ++i) {
        EXPECT_LE(moments[i - 1].get<double>(), moments[i].get<double>()) << at;
    }
    EXPECT_LE(at.at("devices_ready").get<double>(), at.at("finish").get<double>());
    if (!at.at("scatter_end").is_null()) {
        EXPECT_LE(at.at("scatter_end").get<double>(), at.at("compute_end").get<double>());
    }
}

void expect_every_instant_in_one_row(const json& rank) {
    const std::int64_t run =
        nanoseconds(rank.at("milestones").at("finish")) - nanoseconds(rank.at("milestones").at("start"));
    std::int64_t rows = 0;
    for (const auto& [name, seconds] : rank.at("wall").items()) {
        rows += name == "total" ? 0 : nanoseconds(seconds);
    }
    EXPECT_EQ(rows, nanoseconds(rank.at("wall").at("total")));
    EXPECT_NEAR(static_cast<double>(rows), static_cast<double>(run), 1);  // each moment is rounded to nanoseconds
    for (const auto& [name, stage] : rank.at("stages").items()) {
        if (!stage.is_null()) {
            EXPECT_EQ(nanoseconds(stage.at("exposed")) + nanoseconds(stage.at("hidden")),
                      nanoseconds(stage.at("active")))
                << name;
            EXPECT_EQ(stage.at("exposed"), rank.at("wall").at(name));
            EXPECT_GE(nanoseconds(stage.at("busy")), nanoseconds(stage.at("active"))) << name;
        }
    }
}

class Report : public testing::TestWithParam<int> {};

TEST_P(Report, HoldsAConsistentEntryForEveryRank) {
    constexpr std::size_t items = 97;
    const JobFolder job(items);
    const auto ranks = static_cast<std::size_t>(std::max(1, GetParam()));

    const ProcessResult result = job.run_ranks(GetParam(), set({"pipeline.chunk_items=7"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));

    EXPECT_THAT(result.out, testing::StartsWith("97 items in "));
    EXPECT_EQ(report.at("schema"), 2);
    EXPECT_TRUE(report.at("timers").at("valid"));
    EXPECT_EQ(report.at("run").at("items_done"), items);
    EXPECT_EQ(report.at("run").at("chunks"), 14);
    EXPECT_FALSE(report.at("run").at("partial"));
    ASSERT_EQ(report.at("ranks").size(), ranks);
    ASSERT_EQ(report.at("attempts").size(), 1U);
    EXPECT_EQ(report.at("attempts").at(0).at("ranks"), ranks);
    EXPECT_EQ(report.at("attempts").at(0).at("devices"), ranks);
    EXPECT_EQ(report.at("attempts").at(0).at("seconds"), report.at("run").at("wall"));
    std::size_t computed = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        const json& rank = report.at("ranks").at(i);
        EXPECT_EQ(rank.at("rank"), i);
        EXPECT_NE(rank.at("host"), "");
        expect_ordered_milestones(rank.at("milestones"));
        expect_every_instant_in_one_row(rank);
        computed += rank.at("stages").at("compute").at("items").get<std::size_t>();
    }
    EXPECT_EQ(computed, items);
}

TEST_P(Report, IsATableOnStdoutThatEndsWithTheVerdict) {
    const JobFolder job(30);

    const ProcessResult result = job.run_ranks(GetParam(), {});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));

    const std::string verdict = report.at("verdict").at("text");
    EXPECT_FALSE(verdict.empty());
    EXPECT_TRUE(result.out.ends_with("\n" + verdict + "\n")) << result.out;
    EXPECT_EQ(result.besides_warnings(), "");
}

TEST_P(Report, LeavesStdoutEmptyWhenQuiet) {
    const JobFolder job(2);

    const ProcessResult result = job.run_ranks(GetParam(), {"--quiet"});

    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.besides_warnings(), "");
    EXPECT_EQ(names_in(job.path()), (std::vector<std::string>{"articles.txt", "job.toml", "labels.csv",
                                                              "labels.csv.report.json", "labels.csv.sluice"}));
}

INSTANTIATE_TEST_SUITE_P(Alone, Report, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Mpi, Report, testing::Values(3));

std::size_t devices_in(const JobFolder& job) {
    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));
    return report.at("ranks").at(0).at("milestones").at("first_compute").size();
}

TEST(Devices, BeyondWhatChunksAndCoresCanUseAreNotStarted) {
    const JobFolder job(40);

    const ProcessResult few_chunks = job.run_alone(set({"run.devices=20", "pipeline.chunk_items=20"}));
    EXPECT_EQ(few_chunks.exit_code, 0) << few_chunks.err;
    EXPECT_THAT(few_chunks.err, testing::HasSubstr("W-RUN-151]: drives 2 host devices, not run.devices = 20"));
    EXPECT_EQ(devices_in(job), 2U);
    job.remove_output();

    const ProcessResult few_cores = job.run_alone(set({"run.devices=1024", "pipeline.chunk_items=1"}));
    EXPECT_EQ(few_cores.exit_code, 0) << few_cores.err;
    EXPECT_LE(devices_in(job), std::max(16U, std::thread::hardware_concurrency()));
    job.remove_output();

    const ProcessResult usual = job.run_alone(set({"run.devices=2", "pipeline.chunk_items=1"}));
    EXPECT_THAT(usual.err, testing::Not(testing::HasSubstr("W-RUN-151")));
    EXPECT_EQ(devices_in(job), 2U);
}

class Unwritable : public testing::TestWithParam<Stdout> {};

TEST_P(Unwritable, StdoutDoesNotChangeTheExitCodeOrTheFiles) {
    const JobFolder job(2);
    const std::string bytes = job.output_of(0, {});

    Process process(launch_words(0, {"run", "job.toml"}), {.folder = job.path(), .out = GetParam()});
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(contents(job.path() / "labels.csv"), bytes);
    EXPECT_EQ(json::parse(contents(job.path() / "labels.csv.report.json")).at("schema"), 2);
}

INSTANTIATE_TEST_SUITE_P(Streams, Unwritable, testing::Values(Stdout::full, Stdout::closed));

}  // namespace
}  // namespace sluice::test
