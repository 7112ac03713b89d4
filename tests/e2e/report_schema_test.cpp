#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::IsEmpty;

json schema() {
    return json::parse(contents(SLUICE_SOURCE_DIR "/docs/report.schema.json"));
}

json report_of(const JobFolder& job) {
    return json::parse(contents(job.path() / "labels.csv.report.json"));
}

TEST(JsonSchema, FindsWhatAReportMustNotBe) {
    const JobFolder job(3);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    const json good = report_of(job);
    const auto spoilt = [&](const char* pointer, const json& value) {
        json report = good;
        report[json::json_pointer(pointer)] = value;
        return violations(schema(), report);
    };
    ASSERT_THAT(violations(schema(), good), IsEmpty());

    EXPECT_EQ(spoilt("/run/items", "3").at(0), "/run/items: is no \"integer\": \"3\"");
    EXPECT_EQ(spoilt("/run/items", -3).at(0), "/run/items: is below 0: -3");
    EXPECT_EQ(spoilt("/run/mode", "fast").at(0), "/run/mode: is none of [\"overlap\",\"serial\"]: \"fast\"");
    EXPECT_EQ(spoilt("/format", "x").at(0), "/format: is not \"sluice report\": \"x\"");
    EXPECT_EQ(spoilt("/ranks", json::array()).at(0), "/ranks: has too few elements");
    EXPECT_EQ(spoilt("/ranks/0/host", nullptr).at(0), "/ranks/0/host: is no \"string\": null");
    EXPECT_EQ(spoilt("/clocks/surprise", 1).at(0), "/clocks/surprise: must not be there");
    EXPECT_EQ(spoilt("/provenance/slurm", 1).size(), 1U);
    EXPECT_EQ(violations(schema(), json::object()).at(0).find(": lacks "), 0U);
    EXPECT_THROW(static_cast<void>(violations({{"pattern", "x"}}, "x")), std::invalid_argument);
}

TEST(ReportSchema, HoldsForARunOfOneProcess) {
    const JobFolder job(97);
    ASSERT_EQ(job.run_alone(set({"pipeline.chunk_items=7"})).exit_code, 0);
    const json report = report_of(job);

    EXPECT_THAT(violations(schema(), report), IsEmpty());

    EXPECT_EQ(report.at("config").at("pipeline").at("chunk_items"), 7);
    EXPECT_EQ(report.at("provenance").at("slurm"), nullptr);
    EXPECT_THAT(report.at("provenance").at("version").get<std::string>(),
                testing::MatchesRegex("[0-9]+[.][0-9]+[.].*"));
    EXPECT_THAT(report.at("provenance").at("identity").at("input").get<std::string>(),
                testing::HasSubstr(" bytes, XXH3 "));
    EXPECT_EQ(report.at("provenance").at("date"), report.at("attempts").at(0).at("start"));
    EXPECT_EQ(report.at("input").at("file_bytes"), std::filesystem::file_size(job.path() / "articles.txt"));
    EXPECT_EQ(report.at("input").at("bytes_read"), report.at("input").at("file_bytes"));
    EXPECT_THAT(report.at("links"), IsEmpty());
    const json& facts = report.at("ranks").at(0).at("facts");
    std::vector<std::string> threads;
    for (const json& thread : facts.at("threads")) {
        threads.push_back(thread.at("name"));
    }
    EXPECT_THAT(threads, testing::IsSupersetOf({"driver 0", "reader 0", "writer", "comm"}));
    EXPECT_THAT(facts.at("chunk_times"), testing::Contains(testing::ResultOf(
                                             [](const json& times) { return times.at("stage"); }, json("compute"))));
}

TEST(ReportSchema, HoldsForARunOfTwoRanks) {
    const JobFolder job(97);
    ASSERT_EQ(
        job.run_ranks(2, set({"pipeline.chunk_items=7", "pipeline.distribution=static", "pipeline.scatter=messages"}))
            .exit_code,
        0);
    const json report = report_of(job);

    EXPECT_THAT(violations(schema(), report), IsEmpty());

    ASSERT_EQ(report.at("links").size(), 1U);
    const json& link = report.at("links").at(0);
    const json& read = report.at("ranks").at(1).at("stages").at("compute").at("items");
    EXPECT_GT(read, 0);
    EXPECT_EQ(link.at("rank"), 1);
    EXPECT_EQ(link.at("bytes_to").get<std::uint64_t>() % read.get<std::uint64_t>(), 0U);
    EXPECT_GT(link.at("bytes_from"), 0);
    EXPECT_GT(link.at("rate_to"), 0);
}

TEST(ReportSchema, HoldsForRanksThatCopyItems) {
    const JobFolder job(97);
    ASSERT_EQ(job.run_ranks(2, set({"pipeline.chunk_items=7", "pipeline.distribution=static"})).exit_code, 0);
    const json report = report_of(job);

    EXPECT_THAT(violations(schema(), report), IsEmpty());

    const json& link = report.at("links").at(0);
    EXPECT_EQ(link.at("bytes_to"), 0);
    EXPECT_TRUE(link.at("rate_to").is_null());
    EXPECT_GT(link.at("bytes_from"), 0);
    const json& stages = report.at("ranks").at(1).at("stages");
    EXPECT_GT(stages.at("scatter").at("items"), 0);
    EXPECT_EQ(stages.at("scatter").at("items"), stages.at("compute").at("items"));
    for (const json& instance : report.at("ranks").at(1).at("instances")) {
        const bool moves = instance.at("stage") != "compute";
        EXPECT_EQ(instance.at("bytes").is_number(), moves) << instance;
    }
}

TEST(ReportSchema, HoldsForAJobThatReadNothing) {
    const JobFolder job(0);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);

    EXPECT_THAT(violations(schema(), report_of(job)), IsEmpty());
}

/// Two chunks are computed, the rest is held.
TEST(ReportSchema, HoldsForARunThatWasStopped) {
    const JobFolder job(held_texts(300, 16));
    job.hold();
    const auto process = job.start_alone(set({"pipeline.chunk_items=8"}));
    ASSERT_TRUE(eventually([&] { return job.has_written() && job.is_held(process->pid()); }));

    process->send(SIGTERM);
    ASSERT_TRUE(eventually([&] { return process->err().find("finishing the chunks in flight") != std::string::npos; }));
    job.release();
    EXPECT_EQ(process->wait().exit_code, 75);

    const json report = report_of(job);
    EXPECT_TRUE(report.at("run").at("partial"));
    EXPECT_THAT(violations(schema(), report), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
