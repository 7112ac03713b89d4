#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr int world_size = 4;

/// Two chunks of 8 are computed, the rest is held.
std::vector<std::string> texts() {
    return held_texts(3000, 16);
}

struct Death {
    int rank;
    int signal;
    const char* cause;
};

void PrintTo(const Death& death, std::ostream* stream) {
    *stream << "signal " << death.signal << " to rank " << death.rank;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The ranks, once each of them computes.
std::vector<pid_t> computing_ranks(const JobFolder& job, const Process& launcher) {
    std::vector<pid_t> pids;
    EXPECT_TRUE(eventually([&] {
        pids = ranks_of(launcher.pid());
        return pids.size() == world_size && std::ranges::all_of(pids, [&](pid_t pid) { return job.is_held(pid); });
    }));
    return pids;
}

/// Lets a stop of the job finish what is in flight.
void release_in_drain(const JobFolder& job, const Process& launcher) {
    EXPECT_TRUE(eventually([&] { return launcher.err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();
}

class RankDeath : public testing::TestWithParam<Death> {};

TEST_P(RankDeath, EndsTheJobWithOneMessageAndPublishesNothing) {
    const auto [rank, signal, cause] = GetParam();
    const JobFolder job(texts());
    const auto launcher = job.start_ranks(world_size, set({"pipeline.chunk_items=8"}));
    const auto victim = static_cast<std::size_t>(rank);
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), world_size);
    const EndWatch all(pids);

    const auto killed = std::chrono::steady_clock::now();
    ASSERT_EQ(::kill(pids[victim], signal), 0);
    const bool gone = all.wait(patience());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed;

    EXPECT_TRUE(gone);
    RecordProperty("seconds_until_all_ranks_were_gone", std::to_string(took.count()));
    const ProcessResult result = launcher->wait();
    EXPECT_NE(result.exit_code, 0);
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    const std::string message = result.errors().front();
    EXPECT_THAT(message, HasSubstr("rank " + std::to_string(rank) + " on " + host_name()));
    EXPECT_THAT(message, HasSubstr(cause));
    EXPECT_THAT(message, testing::ContainsRegex("compute of chunk [0-9]+"));
    EXPECT_THAT(result.err, testing::ContainsRegex(
                                "at least [1-9][0-9]* of 375 chunks are committed: the same command resumes from there|"
                                "nothing is committed yet: the same command starts from the beginning"));
    EXPECT_EQ(std::filesystem::remove(job.path() / "labels.csv.report.json"),
              rank != 0);  // rank 0 says how far it came
    job.expect_unfinished();
}

INSTANTIATE_TEST_SUITE_P(Mpi, RankDeath,
                         testing::Values(Death{0, SIGKILL, "killed"}, Death{1, SIGKILL, "killed"},
                                         Death{2, SIGKILL, "killed"}, Death{3, SIGKILL, "killed"},
                                         Death{0, SIGSEGV, "SIGSEGV"}, Death{2, SIGSEGV, "SIGSEGV"},
                                         Death{1, SIGABRT, "SIGABRT"}),
                         [](const auto& test) {
                             return "Signal" + std::to_string(test.param.signal) + "ToRank" +
                                    std::to_string(test.param.rank);
                         });

struct LauncherStop {
    const char* name;
    int signal;
    int exit_code;
};

void PrintTo(const LauncherStop& stop, std::ostream* stream) {
    *stream << stop.name;
}

class MpiStop : public testing::TestWithParam<LauncherStop> {};

TEST_P(MpiStop, OfTheLauncherFinishesWhatIsInFlight) {
    const JobFolder job(texts());
    const auto launcher = job.start_ranks(world_size, set({"pipeline.chunk_items=8"}));
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), world_size);
    const EndWatch all(pids);

    launcher->send(GetParam().signal);
    release_in_drain(job, *launcher);

    EXPECT_TRUE(all.wait(patience()));
    const ProcessResult result = launcher->wait();
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(": finishing the chunks in flight"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv"));
    if (GetParam().signal == SIGUSR1) {  // after the others the launcher kills what is there a second later
        ASSERT_EQ(result.errors().size(), 1U) << result.err;
        EXPECT_THAT(result.errors().front(), testing::ContainsRegex("E-RUN-075.*after [1-9][0-9]* of 375 chunks"));
        EXPECT_THAT(result.out, HasSubstr("PARTIAL: "));
    }
}

// Open MPI 4's mpirun turns SIGINT into SIGTERM for the ranks and returns 1 of its own after both; SIGUSR1 it forwards,
// and returns the ranks' code.
INSTANTIATE_TEST_SUITE_P(Mpi, MpiStop,
                         testing::Values(LauncherStop{"Term", SIGTERM, 1}, LauncherStop{"Int", SIGINT, 1},
                                         LauncherStop{"Usr1", SIGUSR1, 75}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(MpiStopOfOneRank, EndsTheJobInItsName) {
    const JobFolder job(texts());
    const auto launcher = job.start_ranks(world_size, set({"pipeline.chunk_items=8"}));
    const std::vector<pid_t> pids = computing_ranks(job, *launcher);
    ASSERT_EQ(pids.size(), world_size);

    ASSERT_EQ(::kill(pids[2], SIGTERM), 0);
    release_in_drain(job, *launcher);

    const ProcessResult result = launcher->wait();
    EXPECT_EQ(result.exit_code, 75) << result.err;
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("rank 2: stopped by SIGTERM"));
    EXPECT_THAT(result.out, HasSubstr("PARTIAL: "));
}

}  // namespace
}  // namespace sluice::test
