#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "tests/e2e/job_folder.hpp"
#include "tests/slurm/time_left_in_slurm.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t item_count = 3000;

/// Two chunks of 8 are computed, the rest is held.
std::vector<std::string> held_items() {
    return held_texts(item_count, 16);
}

std::unique_ptr<Process> start_computing(const JobFolder& job, const std::vector<std::string>& settings) {
    auto process = job.start_alone(set(settings));
    EXPECT_TRUE(eventually([&] { return job.has_written() && job.is_held(process->pid()); }));
    return process;
}

ProcessResult end_by(int signal, const JobFolder& job) {
    const auto process = start_computing(job, {"pipeline.chunk_items=8"});
    process->send(signal);
    return process->wait();
}

void wait_for_drain(const Process& process) {
    EXPECT_TRUE(eventually([&] { return process.err().find("finishing the chunks in flight") != std::string::npos; }));
}

class Stop : public testing::TestWithParam<int> {};

TEST_P(Stop, FinishesWhatIsInFlightAndReportsIt) {
    const JobFolder job(held_items());
    const auto process = start_computing(job, {"pipeline.chunk_items=8"});

    process->send(GetParam());
    wait_for_drain(*process);
    job.release();

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 75);
    EXPECT_THAT(result.out, HasSubstr("PARTIAL: "));
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), testing::ContainsRegex("E-RUN-075.*after [1-9][0-9]* of 375 chunks"));
    EXPECT_TRUE(std::filesystem::remove(job.path() / "labels.csv.report.json"));
    job.expect_unfinished();
}

INSTANTIATE_TEST_SUITE_P(Signals, Stop, testing::Values(SIGTERM, SIGINT, SIGUSR1, SIGXCPU),
                         [](const auto& test) { return "Signal" + std::to_string(test.param); });

class Crash : public testing::TestWithParam<int> {};

TEST_P(Crash, OfAProcessNamesHostStageAndChunkAndPublishesNothing) {
    const JobFolder job(held_items());

    const ProcessResult result = end_by(GetParam(), job);

    EXPECT_EQ(result.exit_code, 128 + GetParam());
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(),
                testing::ContainsRegex("E-RUN-001.: rank 0 on .*: died: SIG.* in compute of chunk [0-9]+"));
    EXPECT_THAT(result.err, testing::ContainsRegex(
                                "at least [1-9][0-9]* of 375 chunks are committed: the same command resumes from there|"
                                "nothing is committed yet: the same command starts from the beginning"));
    job.expect_unfinished();
}

INSTANTIATE_TEST_SUITE_P(Signals, Crash, testing::Values(SIGSEGV, SIGABRT, SIGBUS, SIGFPE),
                         [](const auto& test) { return "Signal" + std::to_string(test.param); });

TEST(Kill, OfAProcessPublishesNothing) {
    const JobFolder job(held_items());

    const ProcessResult result = end_by(SIGKILL, job);

    EXPECT_EQ(result.exit_code, 128 + SIGKILL);
    job.expect_unfinished();
}

/// A job that is finishing chunks that are held.
std::unique_ptr<Process> draining(const JobFolder& job, const std::string& setting) {
    auto process = start_computing(job, {"pipeline.chunk_items=16", setting});
    process->send(SIGTERM);
    return process;
}

TEST(SlowDrain, EndsAtOnceAtASecondSignal) {
    const JobFolder job(held_items());
    const auto process = draining(job, "pipeline.depth=8");

    const EndWatch watch({process->pid()});
    EXPECT_TRUE(eventually([&] {  // those of the first second count as one
        process->send(SIGTERM);
        return watch.wait({});
    }));

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 75);
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("stopped by SIGTERM at once"));
    job.expect_unfinished();
}

TEST(SlowDrain, GoesOnWhenSlurmAnnouncesTheEndOfTheTimeMeanwhile) {
    const JobFolder job(held_items());
    const auto process = start_computing(job, {"pipeline.chunk_items=8"});
    write_file(job.path() / "labels.csv.sluice/drain", "");
    EXPECT_TRUE(eventually([&] {
        return contents(job.path() / "labels.csv.sluice/status.json").find("\"draining\"") != std::string::npos;
    }));

    process->send(SIGUSR1);
    EXPECT_TRUE(eventually([&] { return !is_pending(process->pid(), SIGUSR1); }));
    job.release();

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 75);
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), HasSubstr("stopped by a drain request after"));
    EXPECT_THAT(result.out, HasSubstr("PARTIAL: "));
}

TEST(SlowDrain, TakesNoLongerThanTheJobAllows) {
    const JobFolder job(held_items());
    const auto process = draining(job, "fault.drain_timeout=1s");

    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 75);
    ASSERT_EQ(result.errors().size(), 1U) << result.err;
    EXPECT_THAT(result.errors().front(), testing::ContainsRegex("after 1 of 188 chunks; chunks in flight took longer"));
    job.expect_unfinished();
}

TEST(SlowDrain, OfAFirstChunkSaysThatNothingIsCommittedYet) {
    const JobFolder job(held_texts(100, 0));
    const auto process = job.start_alone(set({"pipeline.chunk_items=8", "fault.drain_timeout=1s"}));
    EXPECT_TRUE(eventually([&] { return job.is_held(process->pid()); }));
    process->send(SIGTERM);

    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 75);
    EXPECT_THAT(result.err, HasSubstr("after 0 of 13 chunks"));
    EXPECT_THAT(result.err, HasSubstr("hint: nothing is committed yet: the same command starts from the beginning\n"));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("resumes")));
}

TEST(SlowDrain, OfAFirstChunkLeavesNothingOfTheRun) {
    const JobFolder job(held_texts(100, 0));
    const auto process = job.start_alone(set({"pipeline.chunk_items=8", "fault.drain_timeout=1s"}));
    EXPECT_TRUE(eventually([&] { return job.is_held(process->pid()); }));
    write_file(job.path() / "labels.csv.sluice/drain", "");

    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 75);
    EXPECT_THAT(result.err, HasSubstr("stopped by a drain request after 0 of 13 chunks"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice"));
}

TEST(CrashInTheFirstChunk, SaysThatNothingIsCommittedYet) {
    const JobFolder job(held_texts(100, 0));
    const auto process = job.start_alone(set({"pipeline.chunk_items=8"}));
    EXPECT_TRUE(eventually([&] { return job.is_held(process->pid()); }));
    process->send(SIGSEGV);

    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
    EXPECT_THAT(result.err, HasSubstr("hint: nothing is committed yet: the same command starts from the beginning"));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("resumes")));
}

TEST(SlowDrain, EndsInTimeForTheJobsLimit) {
    const JobFolder job(held_items());
    const TimeLeftInSlurm slurm;
    const auto process = slurm.start(job, set({"pipeline.chunk_items=16", "fault.drain_timeout=86400s"}));
    EXPECT_TRUE(eventually([&] { return job.has_written() && job.is_held(process->pid()); }));
    slurm.say("0:12");  // soon the run stops for that itself, if it gets no signal
    EXPECT_TRUE(eventually([&] {
        const auto status = nlohmann::json::parse(contents(job.path() / "labels.csv.sluice/status.json"));
        return status.contains("limit") && status.at("limit").is_number();
    }));

    process->send(SIGTERM);

    const ProcessResult result = process->wait();
    EXPECT_EQ(result.exit_code, 75);
    EXPECT_THAT(result.err, HasSubstr("chunks in flight took longer than the time left"));
    job.expect_unfinished();
}

ProcessResult command(const JobFolder& job, const std::string& name) {
    return Process(launch_words(0, {name, "labels.csv"}), ProcessOptions{.folder = job.path()}).wait();
}

TEST(KilledRun, CannotBeDrained) {
    const JobFolder job(held_items());
    ASSERT_EQ(end_by(SIGKILL, job).exit_code, 128 + SIGKILL);

    const ProcessResult result = command(job, "drain");

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("error[E-SLM-117]: "));
    EXPECT_THAT(result.err, HasSubstr(" is gone\n"));
    EXPECT_FALSE(std::filesystem::exists(job.path() / "labels.csv.sluice/drain"));
}

TEST(KilledRun, IsNotWatchedForEver) {
    const JobFolder job(held_items());
    ASSERT_EQ(end_by(SIGKILL, job).exit_code, 128 + SIGKILL);

    const ProcessResult result =
        Process(launch_words(0, {"status", "labels.csv", "--watch"}), ProcessOptions{.folder = job.path()}).wait();

    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("its process is gone; "));
}

TEST(KilledRun, IsCompleteOnceItHasAManifest) {
    const JobFolder job(3);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    const std::filesystem::path status = job.path() / "labels.csv.sluice/status.json";
    nlohmann::json json = nlohmann::json::parse(contents(status));
    json["state"] = "running";  // as when it was killed before it wrote its last status
    json["items_done"] = 0;
    json["end"] = nullptr;
    write_file(status, json.dump());

    const ProcessResult result = command(job, "status");

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("state     complete, exit code 0\n"));
    EXPECT_THAT(result.out, HasSubstr("3 of 3 items"));
}

TEST(RunWithoutAStatus, IsNotCalledOneThatHasNotBegun) {
    const JobFolder killed(held_items());
    ASSERT_EQ(end_by(SIGKILL, killed).exit_code, 128 + SIGKILL);
    const JobFolder done(3);
    ASSERT_EQ(done.run_alone({}).exit_code, 0);

    for (const auto& [job, state] : {std::pair{&killed, "unknown, but an attempt has started"}, {&done, "complete"}}) {
        const std::filesystem::path file = job->path() / "labels.csv.sluice/status.json";
        write_file(file, R"({"state": 5)");
        EXPECT_EQ(command(*job, "status").out,
                  fmt::format("state     {}: its status.json is damaged, or another version's\n", state));
        std::filesystem::remove(file);
        EXPECT_EQ(command(*job, "status").out, fmt::format("state     {}: its status.json is missing\n", state));
    }
}

TEST(RemovedRun, IsNotWatchedForEver) {
    const JobFolder job(held_items());
    const auto run = start_computing(job, {"pipeline.chunk_items=8"});
    const std::string watch = launch_words(0, {}).front() + " status labels.csv --watch >&2";
    Process process({"/bin/sh", "-c", "exec " + watch}, ProcessOptions{.folder = job.path()});
    EXPECT_TRUE(eventually([&] { return process.err().find("state") != std::string::npos; }));

    std::filesystem::rename(job.path() / "labels.csv.sluice", job.path() / "moved");
    const ProcessResult result = process.wait();

    EXPECT_EQ(result.exit_code, 66);
    EXPECT_THAT(result.err, HasSubstr("E-RUN-116"));
    run->send(SIGKILL);
}

TEST(KilledRun, HasNoLaterRunWithItsNumberCancelledInItsPlace) {
    const JobFolder killed(held_items());
    ASSERT_EQ(end_by(SIGKILL, killed).exit_code, 128 + SIGKILL);
    const JobFolder other(held_items());
    const auto process = start_computing(other, {"pipeline.chunk_items=8"});
    const std::filesystem::path status = killed.path() / "labels.csv.sluice/status.json";
    nlohmann::json json = nlohmann::json::parse(contents(status));

    json["process"] = process->pid();
    write_file(status, json.dump());
    const ProcessResult result = command(killed, "cancel");

    EXPECT_EQ(result.exit_code, 66) << result.out;
    EXPECT_FALSE(is_pending(process->pid(), SIGTERM));
    EXPECT_EQ(process->err().find("finishing the chunks in flight"), std::string::npos);
    EXPECT_EQ(command(other, "cancel").exit_code, 0);
    wait_for_drain(*process);
    other.release();
    EXPECT_EQ(process->wait().exit_code, 75);
}

}  // namespace
}  // namespace sluice::test
