#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/echo_job.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr int rank_count = 3;
constexpr std::size_t minutes_of_items = 600;  // of a fifth of a second each, which nobody waits for

std::vector<std::string> items(std::size_t count, const std::string& text = "item") {
    return std::vector<std::string>(count, text);
}

std::vector<std::string> with(std::size_t index, const std::string& text, std::size_t count) {
    std::vector<std::string> all = items(count);
    all.at(index) = text;
    return all;
}

/// The ranks, once chunks are being committed.
std::vector<pid_t> computing_ranks(const EchoJob& job, const Process& launcher) {
    const std::filesystem::path journal = job.attempt(1) / "w0.jrn";
    EXPECT_TRUE(
        eventually([&] { return std::filesystem::exists(journal) && std::filesystem::file_size(journal) > 0; }));
    std::vector<pid_t> pids = ranks_of(launcher.pid());
    EXPECT_EQ(pids.size(), rank_count);
    return pids;
}

void expect_partial(const EchoJob& job, const std::string& reason) {
    const nlohmann::json report = job.report();
    EXPECT_EQ(report.at("run").at("partial"), true);
    EXPECT_THAT(report.at("run").at("ended_by").get<std::string>(), HasSubstr(reason));
}

void expect_two_of_three_lost(const EchoJob& job) {
    const nlohmann::json report = job.report();
    EXPECT_EQ(report.at("ranks").size(), 1U);
    ASSERT_EQ(report.at("lost").size(), 2U);
    EXPECT_EQ(report.at("lost").at(0).at("rank"), 1);
    EXPECT_GT(report.at("lost").at(0).at("items"), 0);
    EXPECT_EQ(report.at("verdict").at("binding"), nullptr);
}

/// Rank 0's, or where that hangs, another one's.
std::filesystem::path dump_in(const std::filesystem::path& attempt) {
    std::filesystem::path found = attempt / "dump.txt";
    for (const char* const name : {"dump.1.txt", "dump.2.txt"}) {
        found = std::filesystem::exists(attempt / name) ? attempt / name : found;
    }
    return found;
}

class MpiHang : public testing::TestWithParam<int> {};

TEST_P(MpiHang, OfAStoppedRankEndsTheJobInItsName) {
    const EchoJob job(items(minutes_of_items, "slow"));
    const auto launcher = job.start(rank_count);
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), rank_count);

    ASSERT_EQ(::kill(pids[static_cast<std::size_t>(GetParam())], SIGSTOP), 0);

    const ProcessResult result = launcher->wait();
    const std::string culprit = "rank " + std::to_string(GetParam()) + " on ";
    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("E-RUN-076.: " + culprit + ".*hangs: .*chunk [0-9]+"));
    EXPECT_THAT(result.err,
                ContainsRegex("at least [1-9][0-9]* of [0-9]+ chunks are committed|nothing is committed yet: "));
    const bool by_root = GetParam() != 0;
    const std::string dump = contents(dump_in(job.attempt(1)));
    EXPECT_THAT(dump, testing::StartsWith(culprit));
    for (int rank = 0; rank < rank_count; ++rank) {
        EXPECT_THAT(dump, HasSubstr("rank " + std::to_string(rank) + " on "));
    }
    if (by_root) {
        expect_partial(job, "E-RUN-076");
        expect_two_of_three_lost(job);
        EXPECT_THAT(result.out, HasSubstr("PARTIAL"));
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, MpiHang, testing::Values(0, 2));

/// While a run drains, a rank that does not run is as good as dead. Under srun the others hear of a death on another
/// node as of a stop.
class MpiLoss : public testing::TestWithParam<int> {};

TEST_P(MpiLoss, OfARankWhileTheRunDrainsIsADeath) {
    const EchoJob job(items(minutes_of_items, "slow"));
    const auto launcher = job.start(rank_count, {"fault.drain_timeout=8s", "fault.hang_timeout=0s"});
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), rank_count);
    const auto lost = static_cast<std::size_t>(GetParam());
    const std::string name = "rank " + std::to_string(lost);

    ASSERT_EQ(::kill(pids[lost], SIGSTOP), 0);
    ASSERT_EQ(::kill(pids[lost == 0 ? 1 : 0], SIGTERM), 0);

    const ProcessResult result = launcher->wait();
    EXPECT_EQ(result.exit_code, 70) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("E-RUN-001.: " + name + ".*died, or cannot be reached"));
    EXPECT_THAT(contents(job.attempt(1) / ("lost." + std::to_string(lost))), testing::StartsWith("cause " + name));
}

INSTANTIATE_TEST_SUITE_P(Ranks, MpiLoss, testing::Values(0, 2));

TEST(MpiHang, OfAStreamOnAnotherRankIsSaidByRank0) {
    std::vector<std::string> texts = items(minutes_of_items, "slow");
    texts[4] = "hang";  // in the second chunk, which another rank gets when rank 0 waits for its turn
    const EchoJob job(texts);

    const ProcessResult result = job.run(2, {"pipeline.distribution=static"});

    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(),
                ContainsRegex("rank 1 on .*device 0: computes chunk 1, its device 0 compute stream busy"));
    expect_partial(job, "rank 1 on ");
}

TEST(Hang, OfAStreamEndsTheRun) {
    const EchoJob job(with(9, "hang", 100));

    const ProcessResult result = job.run(0, {"fault.hang_timeout=1s"});

    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("device 0: computes chunk 2, its device 0 compute stream busy"));
    EXPECT_THAT(result.err, HasSubstr("device 0: computes chunk 2"));
    EXPECT_THAT(result.err, HasSubstr("writer: waits for the results of chunk 2"));
    EXPECT_THAT(contents(job.attempt(1) / "dump.txt"), HasSubstr("device 0 compute stream"));
    const auto status = nlohmann::json::parse(contents(job.attempt(1) / "../../status.json"));
    EXPECT_THAT(status.at("end").at("hint").get<std::string>(), testing::EndsWith("dump.txt says who waits for what"));
    EXPECT_EQ(status.at("chunks_committed"), 2) << "although no commit was due";
    expect_partial(job, "E-RUN-076");
    EXPECT_EQ(job.report().at("run").at("items_done"), 8);
}

TEST(Hang, OfAReaderEndsTheRun) {
    const EchoJob job(with(9, "unreadable", 100));

    const ProcessResult result = job.run(0, {"fault.hang_timeout=1s"});

    EXPECT_EQ(result.exit_code, 76) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), ContainsRegex("reader [0-9]+: reads chunk 2"));
    expect_partial(job, "E-RUN-076");
}

TEST(Hang, IsNotWhatASlowDeviceDoes) {
    const EchoJob job(items(15, "slow"));  // in one chunk, which takes longer than hang_timeout

    const ProcessResult result = job.run(0, {"pipeline.chunk_items=15", "fault.hang_timeout=2s"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("PARTIAL")));
}

TEST(MpiHang, IsNotWhatASlowRankDoes) {
    std::vector<std::string> texts = items(30);
    for (std::size_t i = 15; i < 30; ++i) {
        texts[i] = "slow";  // rank 1's share, in one chunk
    }
    const EchoJob job(texts);

    const ProcessResult result =
        job.run(2, {"pipeline.chunk_items=15", "pipeline.distribution=static", "fault.hang_timeout=2s"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
}

/// How often the thread called `name` has slept.
std::uint64_t sleeps_of_thread(pid_t pid, const std::string& name) {
    const std::string key = "\nvoluntary_ctxt_switches:\t";
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        const std::string status = contents(task.path() / "status");
        const std::size_t at = status.find(key);
        if (contents(task.path() / "comm") == name + "\n" && at != std::string::npos) {
            return std::stoull(status.substr(at + key.size()));
        }
    }
    return 0;
}

TEST(Suspension, IsNeitherAHangNorAStagesWork) {
    constexpr std::chrono::seconds longer_than_allowed{3};
    const EchoJob job({"item", "item", "item", "item", "held", "item"});
    const auto process = job.start(0, {"fault.hang_timeout=2s"});
    ASSERT_TRUE(eventually([&] {  // the watcher sleeps between two looks
        return job.has_written(1) && job.is_held(process->pid()) && sleeps_of_thread(process->pid(), "watcher") >= 3;
    }));

    process->send(SIGSTOP);
    const auto stopped = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - stopped > longer_than_allowed; }));
    job.release();
    process->send(SIGCONT);

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("NOTE: rank 0 was suspended for "));
    const nlohmann::json report = job.report();
    const double suspended = report.at("ranks").at(0).at("wall").at("suspended").get<double>();
    EXPECT_GE(suspended, 2.5);
    EXPECT_LE(report.at("verdict").at("share"), 1);
    const auto status = nlohmann::json::parse(contents(job.path() / "labels.csv.sluice/status.json"));
    EXPECT_LE(6 / status.at("mean_items_per_second").get<double>(),
              report.at("run").at("wall").get<double>() - suspended + 1)
        << "of the suspension one second may count";
}

TEST(MpiDeath, OfAnotherRankLeavesAPartialReport) {
    const EchoJob job(items(minutes_of_items, "slow"));
    const auto launcher = job.start(rank_count);
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), rank_count);

    ASSERT_EQ(::kill(pids[2], SIGKILL), 0);

    const ProcessResult result = launcher->wait();
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("E-RUN-001"));
    expect_partial(job, "E-RUN-001: rank 2 on ");
    expect_two_of_three_lost(job);
}

}  // namespace
}  // namespace sluice::test
