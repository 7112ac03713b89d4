// Runs that begin while their input is still being indexed, against runs that index it first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/e2e/early_end.hpp"
#include "tests/e2e/planted_faults.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t some_blocks = 3000;  // texts of 1.8 MB, which are indexed in several blocks
const std::string slow_index = "slow.block=20000";
const std::string slow_attempt = "slow.block=20000,slow.attempt=1000000";

/// Of the program that obeys faults. `ranks` 0: without a launcher.
std::unique_ptr<Process> start_planted(const JobFolder& job, int ranks, const std::vector<std::string>& settings) {
    const auto words = joined({"run", "job.toml", "--no-progress"}, set(settings));
    return std::make_unique<Process>(launch_words(ranks, words, SLUICE_PLANTED_PROGRAM),
                                     ProcessOptions{.folder = job.path()});
}

/// Whether the first attempt had begun before it knew the number of items, on which its run's fingerprint depends: its
/// owner.json got that later.
bool began_uncounted(const JobFolder& job) {
    const auto changed = [&job](const char* name) {
        struct stat status {};
        EXPECT_EQ(::stat((job.path() / "labels.csv.sluice/attempts/1" / name).c_str(), &status), 0);
        return std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    };
    return changed("owner.json") > changed("begin");
}

class GrowingInputByRanks : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(GrowingInputByRanks, GivesTheOutputOfOneThatIsIndexedFirst) {
    const auto [ranks, chunk_items] = GetParam();
    const std::string chunks = fmt::format("pipeline.chunk_items={}", chunk_items);
    const JobFolder job(some_blocks);
    const std::string expected = whole_output(job, 0, set({chunks, "input.index=first"}));
    const PlantedFaults planted(slow_index);

    const ProcessResult result = start_planted(job, ranks, {chunks, "input.index=beside"})->wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(began_uncounted(job));
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    const auto manifest = json::parse(contents(job.path() / "labels.csv.sluice/MANIFEST.json"));
    EXPECT_EQ(manifest.at("items"), some_blocks);
    EXPECT_EQ(manifest.at("inputs").at(0).at("items"), some_blocks);
    const auto report = json::parse(contents(job.path() / "labels.csv.report.json"));
    EXPECT_EQ(report.at("run").at("items"), some_blocks);
}

INSTANTIATE_TEST_SUITE_P(Ways, GrowingInputByRanks,
                         testing::Combine(testing::Values(0, 2, 3), testing::Values(7, 100, 500)),
                         [](const auto& test) {
                             return fmt::format("{}RanksChunks{}", std::get<0>(test.param), std::get<1>(test.param));
                         });

TEST(GrowingInput, OfManyFilesGivesTheOutputOfOneOnAnyRanks) {
    const std::vector<std::string> texts = make_texts(200);
    const JobFolder job(texts);
    const std::string expected = whole_output(job, 0, small_chunks);
    std::filesystem::create_directory(job.path() / "parts");
    for (std::size_t first = 0; first < texts.size(); first += 10) {
        std::string part;
        for (std::size_t i = first; i < first + 10; ++i) {
            part += texts[i] + "\n";
        }
        write_file(job.path() / fmt::format("parts/{:03}.txt", first), part);
    }
    const PlantedFaults planted(slow_index);
    for (const int ranks : {0, 3}) {
        job.remove_output();

        const ProcessResult result =
            start_planted(job, ranks, {"pipeline.chunk_items=8", "input.index=beside", "input.path=parts/*.txt"})
                ->wait();

        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_TRUE(began_uncounted(job));
        EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
        const auto manifest = json::parse(contents(job.path() / "labels.csv.sluice/MANIFEST.json"));
        EXPECT_EQ(manifest.at("inputs").size(), 20U);
        EXPECT_EQ(manifest.at("inputs").at(19).at("first_item"), 190);
    }
}

TEST(GrowingInput, IsNoLongerThanAChunkThatIsLargerThanIt) {
    const JobFolder job(some_blocks);
    const std::string expected = whole_output(job, 0, set({"pipeline.chunk_items=100000"}));
    const PlantedFaults planted(slow_index);

    EXPECT_EQ(start_planted(job, 0, {"pipeline.chunk_items=100000", "input.index=beside"})->wait().exit_code, 0);

    EXPECT_FALSE(began_uncounted(job));
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
}

/// Found while items are computed, and between the attempt's beginning and the plan.
TEST(GrowingInput, WithAMistakeInItsLastLineLeavesNothingOnAnyRanks) {
    for (const auto& [ranks, faults] :
         {std::pair(0, slow_index), {2, slow_index}, {0, slow_attempt}, {2, slow_attempt}}) {
        std::vector<std::string> texts = make_texts(some_blocks);
        texts.back() += '\0';
        const JobFolder job(texts);
        const PlantedFaults planted(faults);

        const ProcessResult result =
            start_planted(job, ranks, {"pipeline.chunk_items=8", "input.index=beside"})->wait();

        EXPECT_EQ(result.exit_code, 65) << result.err;
        EXPECT_THAT(result.err, HasSubstr("articles.txt: byte"));
        job.expect_nothing_left();
    }
}

/// The next items become known later than a thread may hang.
TEST(GrowingInput, IsNoHangHoweverLongItTakes) {
    for (const int ranks : {0, 2}) {
        const JobFolder job(700);
        const PlantedFaults planted("slow.block=1500000");

        const ProcessResult result =
            start_planted(job, ranks, {"pipeline.chunk_items=8", "input.index=beside", "fault.hang_timeout=1s"})
                ->wait();

        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_TRUE(began_uncounted(job));
    }
}

TEST(GrowingInput, GoesOnFromWhereItWasKilled) {
    for (const char* const where : {"attempt.made", "counted", "data.synced::2", "jrn.half::3", "finalize"}) {
        const JobFolder job(some_blocks);
        const std::string expected = whole_output(job, 0, small_chunks);
        const std::vector<std::string> settings{"pipeline.chunk_items=8", "input.index=beside"};
        {
            const PlantedFaults planted(fmt::format("{},{}=kill,due::*=salt:1", slow_index, where));
            EXPECT_EQ(start_planted(job, 0, settings)->wait().exit_code, 128 + SIGKILL) << where;
        }

        const ProcessResult result = start_planted(job, 0, settings)->wait();

        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_TRUE(contents(job.path() / "labels.csv") == expected) << where;
    }
}

TEST(GrowingInput, LeavesNothingWhenItIsStoppedBeforeItIsCounted) {
    const JobFolder job(some_blocks);
    const PlantedFaults planted("slow.block=300000");
    const auto process = start_planted(job, 0, {"pipeline.chunk_items=8", "input.index=beside"});
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(job.path() / "labels.csv.sluice/attempts/1/begin"); }));

    process->send(SIGTERM);
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
}

}  // namespace
}  // namespace sluice::test
