// What identity_test.cpp promises of any app, of a model whose results are sums of many products.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t items = 97;

TEST(Classifier, GivesTheSameScoresForEveryChunkSizeAndLabelsThatVary) {
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, set({"pipeline.chunk_items=1"}));

    const std::vector<std::string> labels = labels_in(bytes, items);
    EXPECT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
    for (const std::string chunk_items : {"7", "32", "100"}) {
        EXPECT_EQ(job.output_of(0, set({"pipeline.chunk_items=" + chunk_items})), bytes) << chunk_items;
    }
    EXPECT_EQ(job.output_of(0, {}), bytes);
}

TEST(ClassifierOfRanks, GivesTheSameBytesAsOneProcess) {
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, set({"pipeline.chunk_items=7"}));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    EXPECT_EQ(job.output_of(3, set({"pipeline.chunk_items=7", "run.devices=2", "pipeline.depth=5"})), bytes);
}

}  // namespace
}  // namespace sluice::test
