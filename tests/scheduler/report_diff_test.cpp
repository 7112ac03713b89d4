#include "scheduler/report_diff.hpp"

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
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Of two devices, each on a rank of its own, that compute 500 items each in `busy`.
json report_of(std::vector<std::chrono::nanoseconds> busy, const json& config = {{"pipeline", {{"depth", 3}}}}) {
    std::vector<RankReport> ranks;
    std::chrono::nanoseconds longest{0};
    for (const auto time : busy) {
        longest = std::max(longest, time);
    }
    for (std::size_t i = 0; i < busy.size(); ++i) {
        const auto end = longest + 100ms;
        RankReport rank = rank_of(static_cast<int>(i), 50ms, longest, end, {device(Stage::compute, busy[i], 500)});
        rank.breakdown.wall.stages[index_of(Stage::compute)] = busy[i];
        rank.breakdown.wall.waiting = end - busy[i];
        ranks.push_back(std::move(rank));
    }
    const RunReport run = run_of(ranks, 500 * busy.size());
    return json::parse(report_file_text(run, config));
}

TEST(ReportDiff, FindsNothingBetweenARunAndItself) {
    const json report = report_of({10s, 10s});

    const ReportDiff diff = diff_reports(report, report);

    EXPECT_THAT(diff.conditions, IsEmpty());
    for (const NumberPair& pair : diff.times) {
        EXPECT_EQ(pair.before, pair.after) << pair.name;
    }
    EXPECT_THAT(diff.conclusions, ElementsAre(HasSubstr("took the same time"), HasSubstr("job, program and machines")));
}

TEST(ReportDiff, NamesWhatTookLongerAndWhoDid) {
    const ReportDiff diff = diff_reports(report_of({10s, 10s, 10s}), report_of({10s, 10s, 20s}));

    EXPECT_NEAR(*diff.times.front().change(), 10 / 10.1, 1e-9);
    EXPECT_THAT(diff.conclusions, Contains(HasSubstr("the second run took 10.0 s longer")));
    EXPECT_THAT(diff.conclusions, Contains(HasSubstr("waiting +10.0 s")));
    EXPECT_THAT(diff.conclusions, Contains(HasSubstr("on rank 2 computes 25.0 items/s, 50.0 before")));
    ASSERT_EQ(diff.devices.size(), 3U);
    EXPECT_DOUBLE_EQ(*diff.devices[2].change(), -0.5);
    EXPECT_DOUBLE_EQ(*diff.devices[0].change(), 0);
}

TEST(ReportDiff, PutsTheGreatestChangeOfTheWallFirst) {
    const ReportDiff diff = diff_reports(report_of({10s}), report_of({4s}));

    EXPECT_EQ(diff.wall.front().name, "compute");
    EXPECT_DOUBLE_EQ(*diff.wall.front().before, 10);
    EXPECT_DOUBLE_EQ(*diff.wall.front().after, 4);
    EXPECT_THAT(diff.conclusions, Contains(HasSubstr("took 6.00 s less")));
    EXPECT_THAT(diff_text(diff), HasSubstr("only compute"));
}

TEST(ReportDiff, TellsSettingsThatDifferButNotWhereOutputsLie) {
    const json before =
        report_of({10s}, {{"pipeline", {{"depth", 3}}}, {"output", {{"path", "a"}, {"format", "csv"}}}});
    const json after =
        report_of({10s}, {{"pipeline", {{"depth", "auto"}}}, {"output", {{"path", "b"}, {"format", "npy"}}}});

    const std::vector<Difference> conditions = diff_reports(before, after).conditions;

    ASSERT_EQ(conditions.size(), 2U);
    EXPECT_EQ(conditions[0].name, "output.format");
    EXPECT_EQ(conditions[1].name, "pipeline.depth");
    EXPECT_EQ(conditions[1].before, "3");
    EXPECT_EQ(conditions[1].after, "auto");
}

TEST(ReportDiff, SaysThatRunsOfOtherAppsInputsOrWeightsDidOtherWork) {
    const json before = report_of({10s}, {{"app", "echo"}});
    json after = before;
    after["provenance"]["identity"]["input"] = "12 bytes, XXH3 1";
    json other_app = report_of({10s}, {{"app", "classifier"}});
    other_app["provenance"]["identity"]["model.weights"] = "34 bytes, XXH3 2";

    EXPECT_THAT(diff_reports(before, before).conclusions, Not(Contains(HasSubstr("different work"))));
    EXPECT_THAT(diff_reports(before, after).conclusions[0], HasSubstr("different work (another input): an item"));
    EXPECT_THAT(diff_reports(before, other_app).conclusions[0],
                HasSubstr("different work (another app, other weights): an item"));
}

TEST(ReportDiff, TellsWhatDecidesBytesAndIsNoSetting) {
    const json config{{"run", {{"precision", "auto"}}}};
    json before = report_of({10s}, config);
    json after = before;
    before["provenance"]["identity"] = {{"run.precision", "fp32"}, {"model.tokenizer", "a"}};
    after["provenance"]["identity"] = {{"run.precision", "bf16"}, {"model.tokenizer", "b"}};

    const std::vector<Difference> chosen = diff_reports(before, after).conditions;
    before["config"]["run"]["precision"] = "fp32";
    const std::vector<Difference> set = diff_reports(before, after).conditions;

    ASSERT_EQ(chosen.size(), 2U);
    EXPECT_EQ(chosen[0].name, "identity of model.tokenizer");
    EXPECT_EQ(chosen[1].name, "identity of run.precision");
    EXPECT_EQ(chosen[1].after, "bf16");
    ASSERT_EQ(set.size(), 2U);
    EXPECT_EQ(set[1].name, "run.precision") << "once is enough";
}

TEST(ReportDiff, TakesANumberForTheSameHoweverItIsWritten) {
    const json before = report_of({10s}, {{"generate", {{"temperature", 1.0}, {"top_p", 0.5}}}});
    const json same = report_of({10s}, {{"generate", {{"temperature", 1}, {"top_p", 0.5}}}});
    const json other = report_of({10s}, {{"generate", {{"temperature", 2}, {"top_p", 0.5}}}});

    EXPECT_TRUE(diff_reports(before, same).conditions.empty());
    ASSERT_EQ(diff_reports(before, other).conditions.size(), 1U);
    EXPECT_EQ(diff_reports(before, other).conditions[0].before, "1");
}

TEST(ReportDiff, TellsHowRunsEndedAndWhatTheirVerdictsNote) {
    const json before = report_of({10s});
    json after = before;
    after["run"]["partial"] = true;
    after["run"]["ended_by"] = "E-RUN-042: a rank hangs";
    after["run"]["failed_items"] = {3, 5};
    after["verdict"]["notes"] = {"NOTE: a straggler"};

    const ReportDiff diff = diff_reports(before, after);

    EXPECT_THAT(diff_text(diff), HasSubstr("  ended by: -; E-RUN-042: a rank hangs\n  ended early: no; yes\n"));
    EXPECT_THAT(diff_text(diff), HasSubstr("  items left out: 0; 2\n"));
    EXPECT_THAT(diff_text(diff), HasSubstr("\n        NOTE: a straggler\n"));
    EXPECT_EQ(diff_json(diff).at("notes").at("after").at(0), "NOTE: a straggler");
}

TEST(ReportDiff, TellsHowRanksAndDevicesLieOnHosts) {
    json before = report_of({10s, 10s});
    json after = before;
    before["ranks"][0]["milestones"]["first_compute"] = {1, 1, 1};
    after["ranks"][0]["milestones"]["first_compute"] = {1, 1};
    after["ranks"][1]["milestones"]["first_compute"] = {1, 1};
    after["ranks"][1]["host"] = after["ranks"][0]["host"];

    const std::string text = diff_text(diff_reports(before, after));

    EXPECT_THAT(text, HasSubstr("  devices: 4, 1 to 3 a rank; 4\n"));
    EXPECT_THAT(text, HasSubstr("  hosts: n00, n01; n00 (2)\n"));
}

TEST(ReportDiff, RoundsNoChangeToALossOfAll) {
    const json before = report_of({10s});
    json after = before;
    after["verdict"]["steady"] = before.at("verdict").at("steady").get<double>() / 1e6;

    EXPECT_THAT(diff_text(diff_reports(before, after)), HasSubstr("-99.9 %"));
    EXPECT_THAT(diff_text(diff_reports(before, after)), Not(HasSubstr("-100.0 %")));
}

TEST(ReportDiff, ComparesNoTimesOfDifferentNumbersOfItems) {
    const ReportDiff diff = diff_reports(report_of({10s}), report_of({10s, 10s}));

    EXPECT_THAT(diff.conclusions, Contains(HasSubstr("different numbers of items")));
    EXPECT_THAT(diff.conclusions, Not(Contains(HasSubstr("longer"))));
    EXPECT_THAT(diff_text(diff), HasSubstr("ranks: 1; 2"));
}

TEST(ReportDiff, HoldsWhereAReportLacksItsTimes) {
    json invalid = report_of({10s});
    invalid["ranks"][0].erase("wall");
    invalid["ranks"][0].erase("instances");
    invalid["verdict"] = {{"text", "no verdict: the timers are invalid"}, {"notes", json::array()}};

    const ReportDiff diff = diff_reports(report_of({10s}), invalid);

    EXPECT_EQ(diff.rates.back().after, std::nullopt);
    EXPECT_THAT(diff.devices, IsEmpty());
    EXPECT_THAT(diff_text(diff), HasSubstr("no verdict"));
    EXPECT_THAT(diff_text(diff), Not(HasSubstr("only compute"))) << "what is not known is no time of 0";
    EXPECT_TRUE(diff_json(diff).at("rates").at("steady, items/s").at("after").is_null());
}

TEST(ReportDiff, RefusesAnObjectThatIsNoReport) {
    EXPECT_THROW(static_cast<void>(diff_reports(json::object(), report_of({10s}))), json::exception);
}

TEST(ReportDiff, ShowsControlBytesAsText) {
    const json before = report_of({10s}, {{"input", {{"path", "a\x1b[31m"}}}});

    EXPECT_THAT(diff_text(diff_reports(before, report_of({10s}))), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sluice::test
