// The classifier reads no more than 1014 bytes of a text, and says of how many items it has left something out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t text_count = 97;
constexpr std::size_t bytes_read = 1014;

/// Of 1013 to 1017 bytes: three of five are cut.
std::vector<std::string> long_texts() {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < text_count; ++i) {
        texts.emplace_back(bytes_read - 1 + i % 5, static_cast<char>('a' + i % 26));
    }
    return texts;
}

/// From item `first` on.
std::int64_t cut_from(std::size_t first) {
    const std::vector<std::string> texts = long_texts();
    return std::count_if(texts.begin() + static_cast<std::ptrdiff_t>(first), texts.end(),
                         [](const std::string& text) { return text.size() > bytes_read; });
}

json run_in_report(const JobFolder& job) {
    return json::parse(contents(job.path() / "labels.csv.report.json")).at("run");
}

TEST(CutTexts, AreCountedOnceWhateverTheChunksAndRanks) {
    const JobFolder job(long_texts());

    for (const int ranks : {0, 3}) {
        for (const std::string chunk_items : {"1", "7", "100"}) {
            const ProcessResult result =
                job.run_ranks(ranks, set({"pipeline.chunk_items=" + chunk_items, "run.devices=2", "pipeline.depth=4"}));

            EXPECT_EQ(result.exit_code, 0) << result.err;
            EXPECT_EQ(run_in_report(job).at("counts"), (json{{"cut_texts", cut_from(0)}})) << ranks << chunk_items;
            EXPECT_THAT(result.out, HasSubstr("\ncut texts: 57 (58.7 %)\n"));
            job.remove_output();
        }
    }
}

TEST(CutTexts, AreNoneOfAnInputInPackedForm) {
    const JobFolder job(0);
    write_file(job.path() / "articles.u8", std::string(3 * bytes_read, '\0'));

    const ProcessResult result = job.run_alone(set({"input.path=articles.u8"}));

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(run_in_report(job).at("counts"), (json{{"cut_texts", 0}}));
}

TEST(CutTexts, OfAResumedRunAreThoseThatItComputed) {
    const JobFolder job(long_texts());
    const std::vector<std::string> words{"/usr/bin/env",
                                         "SLUICE_FAULT=due:0:*=salt:1,jrn.synced:0:1=kill",
                                         SLUICE_FAULTS_PROGRAM,
                                         "run",
                                         "job.toml",
                                         "--set",
                                         "pipeline.chunk_items=4"};
    EXPECT_EQ(Process(words, {.folder = job.path()}).wait().exit_code, 128 + SIGKILL);

    const ProcessResult result = job.run_ranks(3, {});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json run = run_in_report(job);
    const auto before = run.at("items_before").get<std::size_t>();
    EXPECT_GE(before, 4U);
    EXPECT_LT(before, text_count);
    EXPECT_EQ(run.at("counts"), (json{{"cut_texts", cut_from(before)}}));
}

}  // namespace
}  // namespace sluice::test
