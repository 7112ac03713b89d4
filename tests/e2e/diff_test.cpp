// sluice diff: what differs between two runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ProcessResult diff(const JobFolder& job, std::vector<std::string> words) {
    words.insert(words.begin(), "diff");
    return Process(launch_words(0, words), {.folder = job.path()}).wait();
}

TEST(Diff, ComparesRunsByTheirNamesOrTheirReports) {
    const JobFolder job(97);
    ASSERT_EQ(job.run_alone(set({"pipeline.chunk_items=7"})).exit_code, 0);
    ASSERT_EQ(job.run_alone(set({"pipeline.chunk_items=7", "output.path=other.csv", "pipeline.depth=1"})).exit_code, 0);

    const ProcessResult by_name = diff(job, {"labels.csv", "other.csv.sluice"});
    const ProcessResult as_json = diff(job, {"labels.csv.report.json", "other.csv", "--json"});

    EXPECT_EQ(by_name.exit_code, 0) << by_name.err;
    EXPECT_THAT(by_name.out, HasSubstr("steady, items/s"));
    EXPECT_THAT(by_name.out, HasSubstr("  pipeline.depth: auto; 1\n"));
    EXPECT_THAT(by_name.out, HasSubstr("\nbefore: "));
    EXPECT_EQ(as_json.exit_code, 0) << as_json.err;
    const json found = json::parse(as_json.out);
    EXPECT_EQ(found.at("before"), "labels.csv.report.json");
    EXPECT_THAT(found.at("after").get<std::string>(), testing::EndsWith("/other.csv.sluice/reports/0001.json"));
    EXPECT_EQ(found.at("items").at("before"), 97);
    EXPECT_EQ(found.at("conditions").at("pipeline.depth"), json::parse(R"({"before": "auto", "after": "1"})"));
    EXPECT_GT(found.at("capacity").at("compute").at("after"), 0);
    EXPECT_EQ(diff(job, {"job.toml", "labels.csv"}).exit_code, 0) << "the same run by its job";
}

TEST(Diff, RefusesWhatIsNoReport) {
    const JobFolder job(3);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    write_file(job.path() / "cut.json", contents(job.path() / "labels.csv.report.json").substr(0, 500));
    write_file(job.path() / "other.json", "{}");
    json newer = json::parse(contents(job.path() / "labels.csv.report.json"));
    newer["schema"] = 3;
    write_file(job.path() / "newer.json", newer.dump());
    const struct {
        std::vector<std::string> words;
        int code;
        const char* message;
    } cases[] = {{{}, 64, "expected two reports or runs"},
                 {{"labels.csv"}, 64, "expected two reports or runs"},
                 {{"labels.csv", "labels.csv", "labels.csv"}, 64, "unexpected argument"},
                 {{"labels.csv", "none.csv"}, 66, "E-RUN-116"},
                 {{"labels.csv", "none.json"}, 66, "E-RUN-116"},
                 {{"labels.csv", "cut.json"}, 65, "it is no JSON"},
                 {{"other.json", "labels.csv"}, 65, "is not a sluice report"},
                 {{"newer.json", "labels.csv"}, 65, "is a report of schema 3, expected 2"}};
    for (const auto& [words, code, message] : cases) {
        const ProcessResult refused = diff(job, words);

        EXPECT_EQ(refused.exit_code, code) << message << ": " << refused.err;
        EXPECT_THAT(refused.err, HasSubstr(message));
        EXPECT_EQ(refused.out, "");
    }
}

TEST(Diff, SaysThatARunThatWasKilledHasNoReport) {
    const JobFolder job(held_texts(20, 10));
    const auto process = job.start_alone(set({"pipeline.chunk_items=1", "pipeline.depth=1"}));
    ASSERT_TRUE(eventually([&] { return job.is_held(process->pid()); }));
    process->send(SIGKILL);
    ASSERT_EQ(process->wait().exit_code, 128 + SIGKILL);

    const ProcessResult refused = diff(job, {"labels.csv", "labels.csv"});

    EXPECT_EQ(refused.exit_code, 66);
    EXPECT_THAT(refused.err, HasSubstr("E-RUN-191"));
}

}  // namespace
}  // namespace sluice::test
