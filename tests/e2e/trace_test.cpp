// output.trace: a timeline of a run's chunks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> traced(std::vector<std::string> settings) {
    settings.emplace_back("output.trace=t.json");
    return set(settings);
}

json trace_of(const JobFolder& job) {
    return json::parse(contents(job.path() / "t.json"));
}

bool is_compute(const json& event) {
    return event.at("ph") == "X" ? event.at("name") == "compute"
                                 : event.at("ph") == "b" && event.at("cat") == "compute";
}

/// The chunks with a compute of their own, once each; of which ranks.
std::set<int> expect_each_chunk_once(const json& trace, std::size_t chunks) {
    std::multiset<std::size_t> seen;
    std::set<int> ranks;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "M") {
            EXPECT_GE(event.at("ts"), 0) << event;
            EXPECT_TRUE(event.at("ph") != "X" || event.at("dur") >= 0) << event;
        }
        if (is_compute(event)) {
            seen.insert(event.at("args").at("chunk").get<std::size_t>());
            ranks.insert(event.at("pid").get<int>());
        }
    }
    EXPECT_EQ(seen.size(), chunks);
    EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), chunks);
    return ranks;
}

class Trace : public testing::TestWithParam<int> {};

TEST_P(Trace, HasEachChunkOfEachRankOnce) {
    const JobFolder job(97);

    const std::string bytes =
        job.output_of(GetParam(), traced({"pipeline.chunk_items=7", "pipeline.distribution=static"}));

    EXPECT_EQ(labels_in(bytes, 97).size(), 97U);
    const json trace = trace_of(job);
    EXPECT_EQ(expect_each_chunk_once(trace, 14).size(), static_cast<std::size_t>(std::max(1, GetParam())));
    EXPECT_EQ(trace.at("otherData").at("format"), "sluice trace");
    EXPECT_EQ(trace.at("otherData").at("app"), "echo");
}

INSTANTIATE_TEST_SUITE_P(Mpi, Trace, testing::Values(0, 3), testing::PrintToStringParamName());

TEST(TraceOfAJob, ThatHasNothingToDoIsThere) {
    const JobFolder job(0);

    ASSERT_EQ(job.run_alone(traced({})).exit_code, 0);

    expect_each_chunk_once(trace_of(job), 0);
}

TEST(TraceOfAJob, BelongsToTheReportsSettings) {
    const JobFolder job(5);

    ASSERT_EQ(job.run_alone(traced({})).exit_code, 0);

    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));
    EXPECT_THAT(violations(json::parse(contents(SLUICE_SOURCE_DIR "/docs/report.schema.json")), report),
                testing::IsEmpty());
    EXPECT_THAT(report.at("config").at("output").at("trace").get<std::string>(), testing::EndsWith("t.json"));
    EXPECT_EQ(job.run_alone({}).exit_code, 0) << "a trace is no part of what a run is";
}

TEST(TraceOfAJob, OfALaterAttemptReplacesAnEarlierOnes) {
    const JobFolder job(held_texts(20, 10));
    const auto process = job.start_alone(traced({"pipeline.chunk_items=1", "pipeline.depth=1"}));
    ASSERT_TRUE(eventually([&] { return job.is_held(process->pid()) && job.has_written(); }));
    process->send(SIGTERM);
    ASSERT_TRUE(eventually([&] {
        return contents(job.path() / "labels.csv.sluice/status.json").find("\"draining\"") != std::string::npos;
    }));
    job.release();
    ASSERT_EQ(process->wait().exit_code, 75);
    const json first = trace_of(job);

    ASSERT_EQ(job.run_alone(traced({"pipeline.chunk_items=1"})).exit_code, 0);

    const json second = trace_of(job);
    EXPECT_EQ(first.at("otherData").at("attempt"), "1");
    EXPECT_EQ(second.at("otherData").at("attempt"), "2");
    std::map<std::size_t, int> chunks;
    for (const json& trace : {first, second}) {
        for (const json& event : trace.at("traceEvents")) {
            if (is_compute(event)) {
                ++chunks[event.at("args").at("chunk").get<std::size_t>()];
            }
        }
    }
    EXPECT_EQ(chunks.size(), 20U) << "the drained attempt told its chunks, too";
}

TEST(TraceOfAJob, ReplacesNoOtherFile) {
    const JobFolder job(3);
    write_file(job.path() / "t.json", "{\"traceEvents\": []}");

    const ProcessResult refused = job.run_alone(traced({}));

    EXPECT_EQ(refused.exit_code, 77);
    EXPECT_THAT(refused.err, HasSubstr("error[E-SEC-024]"));
    EXPECT_THAT(refused.err, HasSubstr("is not a sluice trace"));
    EXPECT_THAT(refused.err, HasSubstr("choose another output.trace"));
    EXPECT_EQ(contents(job.path() / "t.json"), "{\"traceEvents\": []}");
    EXPECT_FALSE(job.has_begun());
}

TEST(TraceOfAJob, WhoseFolderIsGoneIsOnlyAWarning) {
    const JobFolder job(held_texts(20, 10));
    std::filesystem::create_directory(job.path() / "traces");
    const auto process = job.start_alone(set({"output.trace=traces/t.json"}));
    ASSERT_TRUE(eventually([&] { return job.is_held(process->pid()); }));
    std::filesystem::remove_all(job.path() / "traces");
    job.release();

    const ProcessResult done = process->wait();

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("warning[W-OUT-190]: "));
    EXPECT_EQ(labels_in(contents(job.path() / "labels.csv"), 20).size(), 20U);
}

TEST(TraceOfAJob, IsNeitherItsOutputNorItsReportNorItsInput) {
    const JobFolder job(3);
    for (const char* const path : {"labels.csv", "labels.csv.report.json", "articles.txt", "job.toml"}) {
        const ProcessResult refused = job.run_alone(set({"output.trace=" + std::string(path)}));

        EXPECT_EQ(refused.exit_code, 77) << path;
        EXPECT_THAT(refused.err, HasSubstr("output.trace: ")) << path;
    }
    job.expect_nothing_left();
}

}  // namespace
}  // namespace sluice::test
