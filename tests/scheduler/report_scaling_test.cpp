#include "scheduler/report_scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scheduler/report.hpp"
#include "tests/scheduler/verdict_runs.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Ranks {
    std::vector<std::string> hosts;  // of each rank
    std::size_t devices = 1;         // of each rank
};

/// Of 1000 items in `whole`, of which the first tenth is start-up.
ReportToScale scaled(const std::string& name, const Ranks& where, std::chrono::nanoseconds whole,
                     std::uint64_t items = 1000, const json& config = {{"run", {{"precision", "fp32"}}}}) {
    std::vector<RankReport> ranks;
    for (std::size_t r = 0; r < where.hosts.size(); ++r) {
        std::vector<InstanceTotals> devices;
        const std::size_t all = where.hosts.size() * where.devices;
        for (std::size_t d = 0; d < where.devices; ++d) {
            devices.push_back(device(Stage::compute, whole - whole / 10, items / all, static_cast<int>(d)));
        }
        RankReport rank = rank_of(static_cast<int>(r), whole / 10, whole, whole, devices);
        rank.host = where.hosts[r];
        rank.milestones.first_compute.assign(where.devices, whole / 10);
        ranks.push_back(std::move(rank));
    }
    return {.name = name, .report = json::parse(report_file_text(run_of(ranks, items), config))};
}

TEST(ReportScaling, IsAgainstTheRunOnTheFewestDevicesInWhateverOrder) {
    const std::vector<ReportToScale> reports{scaled("four", {{"a", "b"}, 2}, 4s), scaled("one", {{"a"}}, 10s),
                                             scaled("two", {{"a", "a"}}, 5s)};

    const Scaling scaling = scaling_of(reports);

    ASSERT_EQ(scaling.points.size(), 3U);
    const ScalePoint& one = scaling.points[0];
    const ScalePoint& two = scaling.points[1];
    const ScalePoint& four = scaling.points[2];
    EXPECT_EQ(one.devices, 1U);
    EXPECT_DOUBLE_EQ(one.whole_speed_up.times, 1);
    EXPECT_EQ(one.serial, std::nullopt);
    EXPECT_EQ(two.devices, 2U);
    EXPECT_EQ(two.ranks, 2U);
    EXPECT_EQ(two.nodes, 1U);
    EXPECT_DOUBLE_EQ(two.wall, 5);
    EXPECT_DOUBLE_EQ(two.rate, 200);
    EXPECT_DOUBLE_EQ(two.whole_speed_up.efficiency, 1);
    EXPECT_NEAR(two.serial.value(), 0, 1e-12);
    EXPECT_EQ(four.devices, 4U);
    EXPECT_EQ(four.nodes, 2U);
    EXPECT_DOUBLE_EQ(four.whole_speed_up.times, 2.5);
    EXPECT_DOUBLE_EQ(four.whole_speed_up.efficiency, 0.625);
    EXPECT_NEAR(four.serial.value(), (1 / 2.5 - 0.25) / 0.75, 1e-12);
    ASSERT_TRUE(four.steady_speed_up);
    EXPECT_NEAR(four.steady_speed_up->times, *four.steady / *one.steady, 1e-12);
    EXPECT_NEAR(four.steady_speed_up->efficiency, four.steady_speed_up->times / 4, 1e-12);
    EXPECT_THAT(scaling.notes, IsEmpty());
}

TEST(ReportScaling, TakesTheMiddleOneOfRunsInOnePlace) {
    const std::vector<ReportToScale> reports{scaled("a", {{"x"}}, 12s), scaled("b", {{"y"}}, 8s),
                                             scaled("c", {{"x"}}, 10s)};

    const Scaling scaling = scaling_of(reports);

    ASSERT_EQ(scaling.points.size(), 1U);
    EXPECT_EQ(scaling.points[0].runs, 3U);
    EXPECT_DOUBLE_EQ(scaling.points[0].rate, 100);
    EXPECT_DOUBLE_EQ(scaling.points[0].wall, 10);
    EXPECT_NEAR(scaling.points[0].spread, (1000 / 8. - 1000 / 12.) / 100, 1e-12);
}

TEST(ReportScaling, ComparesRatesWhereRunsHaveItemsOfTheirOwn) {
    const std::vector<ReportToScale> reports{scaled("one", {{"a"}}, 10s), scaled("two", {{"a", "b"}}, 10s, 2000)};

    const Scaling scaling = scaling_of(reports);

    EXPECT_DOUBLE_EQ(scaling.points.at(1).whole_speed_up.times, 2);
    EXPECT_EQ(scaling.points.at(1).serial, std::nullopt);
    EXPECT_THAT(scaling.notes, ElementsAre(HasSubstr("different numbers of items")));
}

TEST(ReportScaling, SaysWhatDiffersBesidesWhereTheyRan) {
    const json before{{"run", {{"precision", "fp32"}, {"devices", 1}}}};
    const json after{{"run", {{"precision", "bf16"}, {"devices", 2}}}, {"slurm", {{"nodes", 2}}}};
    const std::vector<ReportToScale> reports{scaled("one", {{"a"}}, 10s, 1000, before),
                                             scaled("two", {{"b"}, 2}, 5s, 1000, after)};

    EXPECT_THAT(scaling_of(reports).notes, ElementsAre("run.precision differs: fp32 in one; bf16 in two"));
}

TEST(ReportScaling, SaysThatGpusAreOfDifferentModels) {
    std::vector<ReportToScale> reports{scaled("one", {{"a"}}, 10s), scaled("two", {{"a"}, 2}, 5s),
                                       scaled("other", {{"b"}, 2}, 5s)};
    reports[0].report["ranks"][0]["facts"]["gpus"] = {"NVIDIA H200"};
    reports[1].report["ranks"][0]["facts"]["gpus"] = {"NVIDIA H200", "NVIDIA H200"};
    reports[2].report["ranks"][0]["facts"]["gpus"] = {"NVIDIA H100", "NVIDIA H100"};

    EXPECT_THAT(scaling_of(reports).notes,
                ElementsAre("model of GPUs differs: NVIDIA H200 in one; NVIDIA H100 in other"));
}

TEST(ReportScaling, CountsARunOnceByWhateverNames) {
    const std::vector<ReportToScale> reports{scaled("one.csv", {{"a"}}, 10s), scaled("job.toml", {{"a"}}, 10s)};

    const Scaling scaling = scaling_of(reports);

    EXPECT_EQ(scaling.points.at(0).runs, 1U);
    EXPECT_THAT(scaling.notes, ElementsAre("job.toml is left out: it is the run of one.csv"));
}

TEST(ReportScaling, LeavesOutRunsWithoutARate) {
    std::vector<ReportToScale> reports{scaled("one", {{"a"}}, 10s), scaled("none", {{"a", "a"}}, 10s)};
    reports[1].report["run"]["throughput"] = nullptr;

    const Scaling scaling = scaling_of(reports);
    const Scaling nothing = scaling_of(std::span(reports).subspan(1));

    EXPECT_EQ(scaling.points.size(), 1U);
    EXPECT_THAT(scaling.notes, ElementsAre(HasSubstr("none is left out")));
    EXPECT_THAT(nothing.points, IsEmpty());
    EXPECT_THAT(scaling_text(nothing), HasSubstr("note: none is left out"));
}

TEST(ReportScaling, IsATableAndAnObject) {
    const Scaling scaling =
        scaling_of(std::vector<ReportToScale>{scaled("one", {{"a"}}, 10s), scaled("four", {{"a", "b"}, 2}, 4s)});

    const std::string text = scaling_text(scaling);
    const nlohmann::ordered_json object = scaling_json(scaling);

    EXPECT_THAT(text,
                HasSubstr("\n4            2      2     1  4.00 s      250       -      2.50      62.5 %  20.0 %"));
    EXPECT_THAT(text, HasSubstr("\n4 devices, 2 nodes, 2 ranks: "));
    EXPECT_EQ(object.at("points").at(1).at("speed_up").at("times"), 2.5);
    EXPECT_EQ(object.at("points").at(0).at("serial"), nullptr);
    EXPECT_EQ(object.at("points").at(1).at("devices"), 4);
    EXPECT_EQ(object.at("notes"), nlohmann::ordered_json::array());
}

}  // namespace
}  // namespace sluice::test
