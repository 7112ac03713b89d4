#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/echo_job.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Chunks of one item each: the first is computed, the others are held.
const std::vector<std::string> seven_held_of_eight{"item", "held", "held", "held", "held", "held", "held", "held"};
const std::vector<std::string> chunks_of_one{"pipeline.chunk_items=1"};

/// Returns when attempt `attempt` has written its first chunk and waits.
std::unique_ptr<Process> computing(const EchoJob& job, int attempt = 1) {
    auto process = job.start(0, chunks_of_one);
    EXPECT_TRUE(eventually([&] { return job.has_written(attempt) && job.is_held(process->pid()); }));
    return process;
}

/// Stops it and lets it finish what is in flight.
ProcessResult stop(const EchoJob& job, Process& process) {
    process.send(SIGTERM);
    EXPECT_TRUE(eventually([&] { return process.err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();
    return process.wait();
}

ProcessResult kill(Process& process) {
    process.send(SIGKILL);
    return process.wait();
}

TEST(ReportOfAJob, ListsAllItsAttemptsAndWhatTheyCost) {
    const EchoJob job(seven_held_of_eight);
    ASSERT_EQ(kill(*computing(job, 1)).exit_code, 128 + SIGKILL);
    ASSERT_EQ(stop(job, *computing(job, 2)).exit_code, 75);
    const nlohmann::json second = job.report();

    const ProcessResult result = job.run(0, {"pipeline.chunk_items=1", "run.devices=2"});

    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json report = job.report();
    const nlohmann::json& attempts = report.at("attempts");
    ASSERT_EQ(attempts.size(), 3U);
    EXPECT_EQ(attempts.at(0).at("attempt"), 1);
    EXPECT_EQ(attempts.at(0).at("exit_code"), nullptr);
    EXPECT_THAT(attempts.at(0).at("ended_by").get<std::string>(), HasSubstr("killed"));
    EXPECT_EQ(attempts.at(0).at("ranks"), 1);
    EXPECT_EQ(attempts.at(0).at("devices"), 1);
    EXPECT_EQ(attempts.at(0).at("start").get<std::string>().size(), std::string("2026-11-21T10:42:07Z").size());
    EXPECT_EQ(attempts.at(1).at("exit_code"), 75);
    EXPECT_EQ(attempts.at(1), second.at("attempts").at(1));
    EXPECT_EQ(attempts.at(2).at("exit_code"), 0);
    EXPECT_EQ(attempts.at(2).at("devices"), 2);
    EXPECT_EQ(report.at("job").at("attempts"), 3);
    EXPECT_EQ(report.at("job").at("items_done"), seven_held_of_eight.size());
    const auto seconds = [&](std::size_t at) { return attempts.at(at).at("seconds").get<double>(); };
    EXPECT_DOUBLE_EQ(report.at("job").at("seconds"), seconds(0) + seconds(1) + seconds(2));
    EXPECT_DOUBLE_EQ(report.at("job").at("device_seconds"), seconds(0) + seconds(1) + 2 * seconds(2));
    EXPECT_THAT(result.out, HasSubstr("\nwhole job: 3 attempts, 8 items computed, "));

    const std::filesystem::path kept = job.path() / "labels.csv.sluice/reports";
    EXPECT_THAT(names_in(kept), ElementsAre("0002.json", "0003.json"));
    EXPECT_EQ(nlohmann::json::parse(contents(kept / "0002.json")), second);
    EXPECT_EQ(contents(kept / "0003.json"), contents(job.path() / "labels.csv.report.json"));
}

TEST(ReportOfAJob, ReplacesNoOtherFileThatHasComeMeanwhile) {
    const EchoJob job(seven_held_of_eight);
    const auto process = computing(job);

    write_file(job.path() / "labels.csv.report.json", "precious");
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 0) << "the output is complete" << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning[W-OUT-120]"));
    EXPECT_THAT(result.err, HasSubstr("it is also in "));
    EXPECT_EQ(contents(job.path() / "labels.csv.report.json"), "precious");
    EXPECT_TRUE(std::filesystem::exists(job.path() / "labels.csv"));
    EXPECT_THAT(names_in(job.path() / "labels.csv.sluice/reports"), ElementsAre("0001.json"));
}

TEST(ReportOfAJob, ThatCannotBePlacedLeavesAStopAStop) {
    const EchoJob job(seven_held_of_eight);
    const auto process = computing(job);

    std::filesystem::create_directory(job.path() / "labels.csv.report.json");
    const ProcessResult result = stop(job, *process);

    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_THAT(result.err, HasSubstr("notice[E-RUN-075]"));
    EXPECT_THAT(result.err, HasSubstr("warning[W-OUT-120]"));
}

TEST(ReportOfAJob, ThatCanBeNeitherPlacedNorKeptIsSaidToBeLost) {
    const EchoJob job(seven_held_of_eight);
    const auto process = computing(job);

    std::filesystem::create_directories(job.path() / "labels.csv.sluice/reports/0001.json");
    std::filesystem::create_directory(job.path() / "labels.csv.report.json");
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("goes to")));
    EXPECT_THAT(result.err, HasSubstr("labels.csv.report.json: the report is not there: is a folder"));
    EXPECT_THAT(result.err, HasSubstr("\n  hint: it is lost; the results are not affected\n"));
}

TEST(ReportOfAJob, ThatCannotBeKeptLeavesTheOutputComplete) {
    const EchoJob job(seven_held_of_eight);
    const auto process = computing(job);

    std::filesystem::create_directories(job.path() / "labels.csv.sluice/reports/0001.json");
    job.release();
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning[W-OUT-120]"));
    EXPECT_THAT(result.err, HasSubstr("reports/0001.json: the report is not there: "));
    EXPECT_EQ(job.report().at("run").at("partial"), false);
    EXPECT_THAT(names_in(job.path() / "labels.csv.sluice/reports"), ElementsAre("0001.json"));
}

}  // namespace
}  // namespace sluice::test
