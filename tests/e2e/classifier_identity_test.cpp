// What identity_test.cpp promises of any app, of the model whose sums depend on how they are grouped.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t items = 97;

TEST(Classifier, GivesTheSameLabelsForEveryChunkSizeAndNotAllTheSame) {
    const JobFolder job(items);

    const std::vector<std::string> labels = labels_in(job.output_of(0, set({"pipeline.chunk_items=1"})), items);

    EXPECT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
    EXPECT_EQ(labels_in(job.output_of(0, set({"pipeline.chunk_items=64"})), items), labels);
    EXPECT_EQ(labels_in(job.output_of(0, {}), items), labels);
}

TEST(ClassifierOfRanks, GivesTheSameBytesAsOneProcess) {
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, set({"pipeline.chunk_items=7"}));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    EXPECT_EQ(job.output_of(3, set({"pipeline.chunk_items=7", "run.devices=2", "pipeline.depth=5"})), bytes);
}

}  // namespace
}  // namespace sluice::test
