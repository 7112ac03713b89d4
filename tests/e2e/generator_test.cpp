// Compiled once for each kind of device, SLUICE_TEST_DEVICE. Without a GPU the one for it is skipped, with the reason.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/device/cuda.hpp"
#include "tests/e2e/babble.hpp"
#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view device = SLUICE_TEST_DEVICE;
constexpr bool on_gpu = device == "cuda";
constexpr std::string_view alphabet = "ZYXWVUTSRQPONMLKJIHGFEDCBA";
constexpr BabbleOptions options{.most = 24, .goes_on = 0.9, .seed = 7};
constexpr std::size_t prefixes = 31;
constexpr std::size_t texts_of_each = 3;

/// A folder with a job of the app "babble": three texts for each line of prefixes.txt, to texts.txt. Ranks share the
/// GPUs that there are.
class Generator : public testing::Test {
protected:
    void SetUp() override {
        if (on_gpu && cuda_device_count() == 0) {
            GTEST_SKIP() << "no GPU: " << why_no_cuda();
        }
        ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1), 0);  // measured costs: not the user's
        std::string lines;
        for (std::size_t i = 0; i < prefixes; ++i) {
            lines += prefix(i) + "\n";
        }
        write_file(path() / "prefixes.txt", lines);
        write_file(path() / "alphabet", std::string(alphabet));
        write_file(path() / "job.toml",
                   "app = \"babble\"\n[input]\npath = \"prefixes.txt\"\ncount = 3\n[model]\nrandom = 1\n[output]\n"
                   "path = \"texts.txt\"\n" +
                       run_section() + "[generate]\nalphabet = \"alphabet\"\ngoes_on = 0.9\nseed = 7\n");
    }

    [[nodiscard]] static std::string run_section() {
        return "[run]\ndevice = \"" + std::string(device) + "\"\ndevices = " + (on_gpu ? "\"auto\"" : "1") + "\n";
    }

    [[nodiscard]] static std::string prefix(std::size_t i) { return std::string(i % 4, alphabet[i % alphabet.size()]); }

    /// What the job has to give; nothing for item `left_out`.
    [[nodiscard]] static std::string expected(std::size_t left_out = no_item) {
        std::string all;
        for (std::size_t i = 0; i < prefixes * texts_of_each; ++i) {
            all += (i == left_out ? "" : babble(options, alphabet, i, prefix(i / texts_of_each))) + "\n";
        }
        return all;
    }

    [[nodiscard]] ProcessResult run(int ranks, const std::vector<std::string>& settings,
                                    const std::string& fault = {}) const {
        std::vector<std::string> words{"run", "job.toml", "--no-progress"};
        const std::vector<std::string> more = set(settings);
        words.insert(words.end(), more.begin(), more.end());
        std::vector<std::string> command = launch_words(ranks, words, SLUICE_GENERATOR_PROGRAM);
        if (!fault.empty()) {
            command.insert(command.begin(), {"/usr/bin/env", "SLUICE_FAULT=" + fault});
        }
        return Process(std::move(command), {.folder = folder_.path()}).wait();
    }

    [[nodiscard]] std::string output() const { return contents(folder_.path() / "texts.txt"); }

    [[nodiscard]] nlohmann::json report() const {
        return nlohmann::json::parse(contents(path() / "texts.txt.report.json"));
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

using nlohmann::json;

/// The clock of rank 1 shows 2 % more time, or less, as no real one does. What happens there still lies between what
/// rank 0 does before and after it, and the error that is stated covers what is wrong.
class MpiClock : public Generator, public testing::WithParamInterface<int> {};

TEST_P(MpiClock, ThatDriftsTurnsNoEventsAround) {
    if (on_gpu) {
        GTEST_SKIP() << "the clock is the host's";
    }
    const double drift = GetParam() * 1e-6;

    const ProcessResult done =
        run(2, {"pipeline.chunk_items=1", "pipeline.distribution=static"}, fmt::format("clock:1=drift:{}", GetParam()));

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json all = report();
    const json& root = all.at("ranks").at(0).at("milestones");
    const json& other = all.at("ranks").at(1).at("milestones");
    const json& clock = all.at("ranks").at(1).at("clock");
    const double error = all.at("clocks").at("error");
    const double length = other.at("finish").get<double>() - other.at("start").get<double>();
    EXPECT_EQ(clock.at("error"), error);
    EXPECT_LE(std::abs(clock.at("drift").get<double>() - (1 / (1 + drift) - 1)) * length, 2 * error);
    EXPECT_EQ(clock.at("violation"), 0);
    EXPECT_GT(clock.at("messages"), 0);
    EXPECT_NEAR(all.at("ranks").at(1).at("wall").at("total"), length, 2e-9);
    EXPECT_LE(other.at("delivered").get<double>(), root.at("finish").get<double>() + error);
    EXPECT_GE(other.at("scatter_end").get<double>() + error, root.at("scatter_begin").get<double>());
    EXPECT_THAT(done.out, HasSubstr("clocks aligned to ±"));
    EXPECT_THAT(done.out, testing::Not(HasSubstr("one clock")));
}

INSTANTIATE_TEST_SUITE_P(Ppm, MpiClock, testing::Values(20'000, -20'000),
                         [](const auto& row) { return row.param > 0 ? "Fast" : "Slow"; });

struct Way {
    int ranks;  ///< 0: without a launcher.
    const char* chunk_items;
};

class GeneratorByRanks : public Generator, public testing::WithParamInterface<Way> {};

TEST_P(GeneratorByRanks, GivesTheTextsOfAPlainLoop) {
    const ProcessResult done = run(GetParam().ranks, {std::string("pipeline.chunk_items=") + GetParam().chunk_items});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(output(), expected());
}

INSTANTIATE_TEST_SUITE_P(Ways, GeneratorByRanks,
                         testing::Values(Way{0, "1"}, Way{0, "7"}, Way{0, "1000"}, Way{0, "auto"}, Way{2, "1"},
                                         Way{2, "7"}, Way{2, "1000"}, Way{2, "auto"}, Way{3, "1"}, Way{3, "7"},
                                         Way{3, "1000"}, Way{3, "auto"}, Way{5, "1"}, Way{5, "7"}, Way{5, "1000"},
                                         Way{5, "auto"}),
                         [](const auto& way) {
                             return std::to_string(way.param.ranks) + "RanksChunks" + way.param.chunk_items;
                         });

class GeneratorMpi : public Generator {};

TEST_F(GeneratorMpi, GivesTheSameTextsAfterKills) {
    for (const int ranks : {3, 0, 2}) {
        ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:2=kill", 1), 0);
        EXPECT_NE(run(ranks, {"pipeline.chunk_items=4"}).exit_code, 0);
    }
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);

    const ProcessResult done = run(3, {"pipeline.chunk_items=4"});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("resuming after"));
    EXPECT_EQ(output(), expected());
}

/// While item 13 is computed, its chunk is held back: forward() of a later one is what dies, on one rank or the other.
TEST_F(GeneratorMpi, FindsTheItemThatEndsEveryAttempt) {
    constexpr std::size_t deadly = 13;
    const std::vector<std::string> settings{"pipeline.chunk_items=8", "fault.max_failed_items=1",
                                            "generate.deadly=" + std::to_string(deadly)};
    // The signal's code, or 70, of a rank that hears of the death and ends before mpirun notices it, as on GPUs.
    const auto has_died = [](int code) { return code == 70 || (!on_gpu && code == 128 + SIGSEGV); };

    ProcessResult last = run(2, settings);
    if (on_gpu) {  // no event tells how far the GPU came
        EXPECT_THAT(last.err, testing::ContainsRegex("E-GPU-096.: .*compute of chunk [^:]*1[ ,][^:]*in flight"));
    }
    int deaths = 0;
    for (; has_died(last.exit_code) && deaths < 20; ++deaths) {
        last = run(2, settings);
    }

    EXPECT_EQ(deaths, 6);  // log2(8) + 3
    EXPECT_EQ(last.exit_code, 0) << last.err;
    EXPECT_EQ(report().at("run").at("failed_items"), nlohmann::json::array({deadly}));
    EXPECT_EQ(output(), expected(deadly));
}

TEST_F(Generator, NeedsNoInputFile) {
    write_file(path() / "job.toml",
               "app = \"babble\"\ninput.count = 40\nmodel.random = 1\noutput.path = \"texts.jsonl\"\n" + run_section() +
                   "[generate]\nalphabet = \"alphabet\"\nseed = 7\n");
    std::string lines;
    for (std::size_t i = 0; i < 40; ++i) {
        lines += "{\"item\":" + std::to_string(i) + ",\"text\":\"" + babble(options, alphabet, i, "") + "\"}\n";
    }

    const ProcessResult done = run(0, {});

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(contents(path() / "texts.jsonl"), lines);
}

TEST_F(Generator, IsAnotherJobWithAnotherOptionOrFile) {
    ASSERT_EQ(::setenv("SLUICE_FAULT", "due:0:*=salt:1,jrn.synced:0:1=kill", 1), 0);
    EXPECT_NE(run(0, {"pipeline.chunk_items=4"}).exit_code, 0);
    ASSERT_EQ(::unsetenv("SLUICE_FAULT"), 0);

    EXPECT_THAT(run(0, {"pipeline.chunk_items=4", "generate.goes_on=0.8"}).err,
                HasSubstr("generate.goes_on (was '0.9', is '0.8')"));
    write_file(path() / "alphabet", "abcdefghijklmnopqrstuvwxyz");
    EXPECT_THAT(run(0, {"pipeline.chunk_items=4"}).err, HasSubstr("generate.alphabet (was "));
}

TEST_F(Generator, WantsADepthThatHoldsItsChunksBack) {
    const ProcessResult refused = run(0, {"pipeline.depth=2"});

    EXPECT_EQ(refused.exit_code, 78) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("E-CFG-011"));
    EXPECT_EQ(run(0, {"pipeline.mode=serial"}).exit_code, 0);
    EXPECT_EQ(output(), expected());
}

}  // namespace
}  // namespace sluice::test
