#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/commit/owner.hpp"
#include "tests/e2e/early_end.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json run_in_report(const JobFolder& job) {
    return json::parse(contents(job.path() / "labels.csv.report.json")).at("run");
}

/// The journal says what is committed, 64 bytes a chunk.
/// The journal says what is committed, 64 bytes a chunk.
TEST(Mpi, GoesOnAfterAKillOnAnotherNumberOfRanks) {
    constexpr std::size_t items = 300;
    const JobFolder job(mostly_held_texts(items));
    const std::string expected = whole_output(job, 3, small_chunks);
    const auto process = computing(job, small_chunks);
    EXPECT_TRUE(eventually([&] {
        std::error_code missing;
        return std::filesystem::file_size(job.path() / "labels.csv.sluice/attempts/1/w0.jrn", missing) >= 64 &&
               !missing;
    }));
    process->send(SIGKILL);
    EXPECT_EQ(process->wait().exit_code, 128 + SIGKILL);
    job.release();

    const ProcessResult result = job.run_ranks(3, joined(small_chunks, set({"run.devices=2", "pipeline.depth=1"})));

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    const json run = run_in_report(job);
    EXPECT_GE(run.at("items_before"), 8U);
    EXPECT_EQ(run.at("items_before").get<std::size_t>() + run.at("items_done").get<std::size_t>(), items);
    EXPECT_FALSE(run.at("partial"));
}

TEST(Resume, GoesOnAfterAStopWithTheChunkSizeItBeganWith) {
    const JobFolder job(mostly_held_texts(300));
    const std::string expected = whole_output(job, 0, small_chunks);
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);
    const json first = run_in_report(job);
    EXPECT_TRUE(first.at("partial"));
    EXPECT_GE(first.at("items_done"), 8U);

    const ProcessResult result = job.run_alone({});  // an automatic size would be another one

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
    EXPECT_EQ(run_in_report(job).at("items_before"), first.at("items_done"));
    EXPECT_THAT(result.err, HasSubstr("labels.csv: resuming after "));
}

TEST(Resume, RefusesAnotherJobAndNamesWhatDiffers) {
    const JobFolder job(mostly_held_texts(300));
    EXPECT_EQ(stop_early(job, small_chunks).exit_code, 75);

    for (const auto& [setting, named] : {std::pair("output.scores=false", "output.scores (was 'true', is 'false')"),
                                         std::pair("model.random=18", "model.random (was '17', is '18')"),
                                         std::pair("pipeline.chunk_items=16", "chunk_items (was '8', is '16')")}) {
        const ProcessResult check =
            Process({SLUICE_PROGRAM, "check", "job.toml", "--set", setting}, {.folder = job.path()}).wait();
        const ProcessResult run = job.run_alone(set({setting}));

        EXPECT_EQ(run.exit_code, 78) << run.err;
        EXPECT_THAT(run.err, HasSubstr("E-CKP-090"));
        EXPECT_THAT(run.err, HasSubstr(named));
        EXPECT_EQ(check.exit_code, run.exit_code);
        EXPECT_EQ(check.err, run.err);
    }
}

TEST(Resume, RefusesASecondRunBesideALivingOne) {
    const JobFolder job(mostly_held_texts(20));
    const auto process = computing(job, small_chunks);

    const ProcessResult result = job.run_alone({});

    EXPECT_EQ(result.exit_code, 79);
    EXPECT_THAT(result.err, HasSubstr("E-OUT-079"));
    process->send(SIGKILL);
    EXPECT_EQ(process->wait().exit_code, 128 + SIGKILL);
}

TEST(Resume, WaitsUntilAnAttemptThatWasKilledOnAnotherNodeCountsAsDead) {
    const JobFolder job(mostly_held_texts(300));
    const std::string expected = whole_output(job, 0, small_chunks);
    const auto process = computing(job, small_chunks);
    process->send(SIGKILL);
    EXPECT_EQ(process->wait().exit_code, 128 + SIGKILL);
    job.release();
    const std::filesystem::path attempt = job.path() / "labels.csv.sluice/attempts/1";
    Owner owner = read_owner(attempt).value();
    owner.host = "elsewhere";
    write_file(owner_file(attempt), encode(owner));
    constexpr std::chrono::seconds nearly_dead{57};
    std::filesystem::last_write_time(heartbeat_file(attempt),
                                     std::filesystem::file_time_type::clock::now() - nearly_dead);

    const ProcessResult result = job.run_alone({});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents(job.path() / "labels.csv") == expected);
}

TEST(Resume, EndsWhenTheRunsFolderIsMovedAwayAndGoesOnWhenItIsBack) {
    const JobFolder job(mostly_held_texts(300));
    const std::filesystem::path run = job.path() / "labels.csv.sluice";
    const auto process = computing(job, small_chunks);

    std::filesystem::rename(run, job.path() / "moved");
    const ProcessResult result = process->wait();

    EXPECT_EQ(result.exit_code, 74) << result.err;
    EXPECT_THAT(result.err, HasSubstr("E-OUT-119"));
    EXPECT_FALSE(std::filesystem::exists(run));
    const std::string plan = job.path() / "labels.csv.sluice/plan.toml";
    EXPECT_EQ(run_sluice(job, {"stop-reason", "--plan", plan, "--srun-rc", "137"}).out, "74 no\n");
    std::filesystem::rename(job.path() / "moved", run);
    EXPECT_EQ(run_sluice(job, {"check", "job.toml"}).exit_code, 0);
}

TEST(Resume, FindsTheSameFilesThroughALinkToTheJobsFolder) {
    const JobFolder job(3);
    std::filesystem::create_directories(job.path() / "project/jobs");
    std::filesystem::create_directory_symlink("project/jobs", job.path() / "link");
    std::filesystem::rename(job.path() / "articles.txt", job.path() / "project/articles.txt");
    std::string text = contents(job.path() / "job.toml");
    for (const std::string name : {"articles.txt", "labels.csv"}) {
        text.replace(text.find(name), name.size(), "../" + name);
    }
    write_file(job.path() / "project/jobs/job.toml", text);

    const ProcessResult result = run_sluice(job, {"run", "link/job.toml"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(job.path() / "project/labels.csv"));
    EXPECT_THAT(run_sluice(job, {"run", "project/jobs/job.toml"}).out, HasSubstr("already complete"));
    EXPECT_THAT(run_sluice(job, {"resume", "project/labels.csv"}).out, HasSubstr("already complete"));
}

TEST(Resume, LeavesACompleteOutputWhereNothingCanBeWritten) {
    const JobFolder job(3);
    const auto words = set({"output.report=reports/labels.json"});
    std::filesystem::create_directory(job.path() / "reports");
    EXPECT_EQ(job.run_alone(words).exit_code, 0);
    const auto mode = std::filesystem::status(job.path()).permissions();
    std::filesystem::remove_all(job.path() / "reports");
    std::filesystem::permissions(job.path(), mode & ~std::filesystem::perms(0222));  // root may write all the same

    const ProcessResult again = job.run_alone(words);
    const ProcessResult resumed = run_sluice(job, {"resume", "labels.csv"});
    const ProcessResult checked = run_sluice(job, {"check", "job.toml", "--set", "output.report=reports/labels.json"});
    std::filesystem::permissions(job.path(), mode);

    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("already complete"));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

}  // namespace
}  // namespace sluice::test
