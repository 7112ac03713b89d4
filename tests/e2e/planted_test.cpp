// Slow stages are planted, and the report has to name them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/e2e/planted_faults.hpp"
#include "tests/e2e/planted_pause.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

/// 80 chunks of two items, on one host device a rank. `ranks` 0: without a launcher.
json report_of(int ranks, const std::vector<std::string>& settings = {}) {
    const JobFolder job(160);
    std::vector<std::string> words{"run", "job.toml", "--no-progress"};
    std::vector<std::string> all{"pipeline.chunk_items=2"};
    all.insert(all.end(), settings.begin(), settings.end());
    const std::vector<std::string> set_words = set(all);
    words.insert(words.end(), set_words.begin(), set_words.end());
    const ProcessResult done =
        Process(launch_words(ranks, words, SLUICE_PLANTED_PROGRAM), {.folder = job.path()}).wait();
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::parse(contents(job.path() / "labels.csv.report.json"));
}

/// Of each rank the rows add up to its run.
void expect_no_unexplained_time(const json& report) {
    for (const json& rank : report.at("ranks")) {
        double rows = 0;
        for (const auto& [name, time] : rank.at("wall").items()) {
            rows += name == "total" ? 0 : time.get<double>();
        }
        EXPECT_NEAR(rows, rank.at("wall").at("total").get<double>(), 1e-3 * rows);
    }
}

/// Of all chunks, also those for rank 0's own devices: the planted time is part of it, once a chunk.
void expect_all_counted(const json& report, const std::string& stage, double slow) {
    double busy = 0;
    std::uint64_t items = 0;
    double parallel = 0;
    for (const json& rank : report.at("ranks")) {
        for (const json& instance : rank.at("instances")) {
            if (instance.at("stage") == stage) {
                busy += instance.at("busy").get<double>();
                items += instance.at("items").get<std::uint64_t>();
                ++parallel;
            }
        }
    }
    EXPECT_EQ(items, 160);
    EXPECT_GE(busy, 80 * slow);
    EXPECT_LE(report.at("verdict").at("achievable").get<double>(), parallel * 2 / slow);
}

struct Case {
    const char* stage;
    int ranks;
    int microseconds;
};

class PlantedStage : public testing::TestWithParam<Case> {};

TEST_P(PlantedStage, IsNamed) {
    const std::string stage = GetParam().stage;
    const PlantedFaults planted("slow." + (stage == "read" ? "disk" : stage) + "=" +
                                std::to_string(GetParam().microseconds) + (stage == "commit" ? ",due::*=salt:1" : ""));

    const json report = report_of(GetParam().ranks);

    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("least"), stage) << verdict.dump(2);
    if (GetParam().ranks == 0) {  // ranks that share a busy machine's cores wait for them, too, and get unequal shares
        if (ran_at_once(GetParam().microseconds * 1e-6, 2, verdict.at("capacity").at(stage).get<double>())) {
            EXPECT_NE(verdict.at("bound"), "nothing") << verdict.dump(2);
        }
        EXPECT_TRUE(verdict.at("stragglers").empty()) << verdict.dump(2);
    }
    if (stage == "scatter" || stage == "gather") {
        expect_all_counted(report, stage, GetParam().microseconds * 1e-6);
    }
    expect_no_unexplained_time(report);
}

INSTANTIATE_TEST_SUITE_P(OneRank, PlantedStage,
                         testing::Values(Case{"read", 0, 8000}, Case{"parse", 0, 8000}, Case{"scatter", 0, 8000},
                                         Case{"upload", 0, 8000}, Case{"compute", 0, 8000}, Case{"download", 0, 8000},
                                         Case{"gather", 0, 8000}, Case{"write", 0, 8000}, Case{"commit", 0, 8000}),
                         [](const auto& planted) { return planted.param.stage; });
INSTANTIATE_TEST_SUITE_P(FourRanksMpi, PlantedStage,
                         testing::Values(Case{"read", 4, 10000}, Case{"scatter", 4, 10000}, Case{"compute", 4, 40000},
                                         Case{"gather", 4, 10000}, Case{"commit", 4, 10000}),
                         [](const auto& planted) { return planted.param.stage; });

TEST(PlantedCopies, OfResultsAreOneThreadsWorkInOneProcess) {
    const PlantedFaults planted("slow.scatter=1000,slow.gather=8000");

    const json report = report_of(0, {"run.devices=2"});

    const json& verdict = report.at("verdict");
    const auto achievable = verdict.at("achievable").get<double>();
    EXPECT_EQ(verdict.at("least"), "gather");
    EXPECT_LE(achievable, 2 / 8e-3);
    if (ran_at_once(8e-3, 2, achievable)) {
        EXPECT_EQ(verdict.at("bound"), "stage") << verdict.dump(2);
    }
}

TEST(PlantedCopies, OfItemsAreTheDriversWorkSideBySide) {
    const PlantedFaults planted("slow.scatter=8000");

    const json report = report_of(0, {"run.devices=2"});

    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("least"), "scatter");
    EXPECT_LE(verdict.at("achievable").get<double>(), 2 * 2 / 8e-3);
    std::size_t drivers = 0;
    for (const json& instance : report.at("ranks").at(0).at("instances")) {
        drivers += instance.at("stage") == "scatter" && instance.at("items") != 0 ? 1 : 0;
    }
    EXPECT_EQ(drivers, 2U);
}

TEST(PlantedCopiesMpi, OfMessagesAreOneThreadsWork) {
    const PlantedFaults planted("slow.scatter=10000");

    const json report = report_of(4, {"pipeline.scatter=messages"});

    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("least"), "scatter") << verdict.dump(2);
    for (std::size_t rank = 1; rank < 4; ++rank) {
        for (const json& instance : report.at("ranks").at(rank).at("instances")) {
            EXPECT_NE(instance.at("stage"), "scatter") << rank;
        }
    }
}

/// Of a job that hangs where `faults` say. Each rank has chunks, however late it is.
ProcessResult hung(const std::string& faults, int ranks) {
    const PlantedFaults planted(faults);
    const JobFolder job(160);
    std::vector<std::string> words{"run", "job.toml", "--no-progress"};
    for (const std::string& word :
         set({"pipeline.chunk_items=2", "pipeline.distribution=static", "fault.hang_timeout=1s"})) {
        words.push_back(word);
    }
    return Process(launch_words(ranks, words, SLUICE_PLANTED_PROGRAM), {.folder = job.path()}).wait();
}

TEST(PlantedHang, OfADriverThatCopiesIsSaidWithItsChunk) {
    const ProcessResult result = hung("slow.scatter=10000000", 0);

    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("device 0: copies the items of chunk 0 for"));
}

TEST(PlantedHangMpi, OfADriverThatCopiesOnAnotherRankIsSaidByRank0) {
    const ProcessResult result = hung("slow.scatter:1=10000000", 2);

    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("rank 1 on .*device 0: copies the items of chunk [0-9]+ for"));
}

/// All has been said and written.
class PlantedHangAtTheEndMpi : public testing::TestWithParam<int> {};

TEST_P(PlantedHangAtTheEndMpi, OfARankDoesNotKeepTheLauncherWaiting) {
    const PlantedFaults planted("mpi.finalize:" + std::to_string(GetParam()) + "=stop");
    const JobFolder job(160);
    std::vector<std::string> words{"run", "job.toml", "--no-progress"};
    for (const std::string& word : set({"pipeline.chunk_items=2", "fault.hang_timeout=1s"})) {
        words.push_back(word);
    }

    const ProcessResult result = Process(launch_words(3, words, SLUICE_PLANTED_PROGRAM), {.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 76) << result.err;
    EXPECT_THAT(result.errors(), testing::Contains(ContainsRegex("E-RUN-076.: MPI_Finalize: another rank has not")));
    EXPECT_EQ(labels_in(contents(job.path() / "labels.csv"), 160).size(), 160U);
}

INSTANTIATE_TEST_SUITE_P(Ranks, PlantedHangAtTheEndMpi, testing::Values(0, 2));

TEST(PlantedStartUp, IsWhatBinds) {
    const PlantedFaults planted("slow.index=1500000");

    const json report = report_of(0);

    EXPECT_EQ(report.at("verdict").at("bound"), "startup");
    EXPECT_THAT(report.at("verdict").at("text").get<std::string>(), HasSubstr("its longest part is index, "));
    EXPECT_GE(report.at("ranks").at(0).at("wall").at("index").get<double>(), 1.5);
    expect_no_unexplained_time(report);
}

class PlantedMpiStraggler : public testing::TestWithParam<const char*> {};

TEST_P(PlantedMpiStraggler, IsNamedWithItsRank) {
    const PlantedFaults planted("slow.compute:0=15000,slow.compute:1=15000,slow.compute:2=60000,slow.compute:3=15000");

    const json report = report_of(4, {"pipeline.distribution=" + std::string(GetParam())});

    const json& verdict = report.at("verdict");
    ASSERT_FALSE(verdict.at("stragglers").empty()) << verdict.dump(2);
    EXPECT_EQ(verdict.at("stragglers").at(0).at("rank"), 2);
    if (verdict.at("bound") == "stage") {
        EXPECT_EQ(verdict.at("binding"), "compute");
        EXPECT_EQ(verdict.at("rank"), std::string(GetParam()) == "static" ? json(2) : json(nullptr));
    }
}

INSTANTIATE_TEST_SUITE_P(Distributions, PlantedMpiStraggler, testing::Values("pull", "static"),
                         [](const auto& distribution) { return std::string(distribution.param); });

TEST(PlantedSerial, TakesTurns) {
    const PlantedFaults planted("slow.parse=4000,slow.compute=4000,slow.write=4000");

    const json report = report_of(0, {"pipeline.mode=serial"});

    const json& wall = report.at("ranks").at(0).at("wall");
    EXPECT_LE(wall.at("overlapped").get<double>(), 0.02 * wall.at("total").get<double>()) << wall.dump(2);
    if (report.at("verdict").at("bound") == "nothing") {
        EXPECT_THAT(report.at("verdict").at("notes").dump(), HasSubstr("serial"));
    }
}

}  // namespace
}  // namespace sluice::test
