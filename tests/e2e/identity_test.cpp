#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

std::vector<std::string> chunks_of(int items) {
    return set({"pipeline.chunk_items=" + std::to_string(items)});
}

TEST(Alone, GivesTheSameLabelsForEveryChunkSizeAndNotAllTheSame) {
    constexpr std::size_t items = 97;
    const JobFolder job(items);

    const std::vector<std::string> labels = labels_in(job.output_of(0, chunks_of(1)), items);

    EXPECT_GE(std::set<std::string>(labels.begin(), labels.end()).size(), 2U);
    EXPECT_EQ(labels_in(job.output_of(0, chunks_of(7)), items), labels);
    EXPECT_EQ(labels_in(job.output_of(0, chunks_of(64)), items), labels);
    EXPECT_EQ(labels_in(job.output_of(0, {}), items), labels);
}

TEST(Alone, GivesTheSameBytesForEveryPipeline) {
    constexpr std::size_t items = 97;
    const JobFolder job(items);
    const std::string chunks = "pipeline.chunk_items=7";

    const std::string bytes = job.output_of(0, set({chunks}));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    for (const char* const change : {"pipeline.depth=1", "pipeline.depth=2", "pipeline.depth=5", "pipeline.mode=serial",
                                     "pipeline.distribution=static", "run.devices=2", "run.devices=3"}) {
        EXPECT_EQ(job.output_of(0, set({chunks, change})), bytes) << change;
    }
    EXPECT_EQ(job.output_of(0, set({chunks, "run.devices=3", "pipeline.distribution=static", "pipeline.depth=2"})),
              bytes);
}

TEST(Alone, RunsAnEmptyInputToAnEmptyOutput) {
    const JobFolder job(0);

    const std::string bytes = job.output_of(0, {});

    EXPECT_EQ(bytes, "item,label,score_0,score_1,score_2,score_3\n");
}

struct Size {
    std::size_t items;
    int chunk_items;
};

void PrintTo(const Size& size, std::ostream* stream) {
    *stream << size.items << " items in chunks of " << size.chunk_items;
}

std::string name_of(const testing::TestParamInfo<Size>& info) {
    return "Items" + std::to_string(info.param.items) + "Chunks" + std::to_string(info.param.chunk_items);
}

class Ranks : public testing::TestWithParam<Size> {};

TEST_P(Ranks, GiveTheSameBytesAsOneProcess) {
    const auto [items, chunk_items] = GetParam();
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, chunks_of(chunk_items));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    for (const int ranks : {1, 2, 3, 5}) {
        EXPECT_EQ(job.output_of(ranks, chunks_of(chunk_items)), bytes) << ranks << " ranks";
    }
}

INSTANTIATE_TEST_SUITE_P(Mpi, Ranks,
                         testing::Values(Size{0, 7}, Size{1, 1}, Size{1, 64}, Size{2, 1}, Size{2, 7}, Size{97, 1},
                                         Size{97, 7}, Size{97, 64}),
                         name_of);

class ManyItems : public testing::TestWithParam<Size> {};

TEST_P(ManyItems, GiveTheSameBytesOnThreeRanksAsAlone) {
    const auto [items, chunk_items] = GetParam();
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, chunks_of(chunk_items));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    EXPECT_EQ(job.output_of(3, chunks_of(chunk_items)), bytes);
}

INSTANTIATE_TEST_SUITE_P(Mpi, ManyItems, testing::Values(Size{1009, 7}, Size{1009, 64}), name_of);

struct Change {
    const char* name;
    const char* setting;
};

void PrintTo(const Change& change, std::ostream* stream) {
    *stream << change.setting;
}

class RankPipelines : public testing::TestWithParam<Change> {};

TEST_P(RankPipelines, ChangeNoByte) {
    constexpr std::size_t items = 97;
    const JobFolder job(items);

    const std::string bytes = job.output_of(0, chunks_of(7));

    EXPECT_EQ(labels_in(bytes, items).size(), items);
    EXPECT_EQ(job.output_of(3, set({"pipeline.chunk_items=7", GetParam().setting})), bytes);
}

/// Memory that ranks share counts as a file, whose size may be limited.
TEST(RanksThatShareNoMemoryMpi, GetItemsAsMessages) {
    constexpr std::size_t items = 600'000;
    constexpr std::size_t item_bytes = 144;  // sizeof(Item) of tests/e2e/echo_app.cpp
    const JobFolder job(1);
    write_file(job.path() / "items.u8", std::string(items * item_bytes, '\1'));
    std::vector<std::string> arguments{"run", "job.toml", "--no-progress"};
    for (const std::string& word :
         set({"input.path=items.u8", "pipeline.chunk_items=100000", "output.path=labels.npy"})) {
        arguments.push_back(word);
    }
    std::vector<std::string> words{"/bin/sh", "-c", "ulimit -f 40000 && exec \"$@\"", "sh"};  // in 1024 bytes
    for (std::string& word : launch_words(2, arguments, SLUICE_ECHO_PROGRAM)) {
        words.push_back(std::move(word));
    }

    const ProcessResult done = Process(words, {.folder = job.path()}).wait();

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.err, testing::HasSubstr("warning[W-MPI-183]: rank 0 on "));
    EXPECT_GT(std::filesystem::file_size(job.path() / "labels.npy"), items);
}

INSTANTIATE_TEST_SUITE_P(Mpi, RankPipelines,
                         testing::Values(Change{"Depth1", "pipeline.depth=1"}, Change{"Depth5", "pipeline.depth=5"},
                                         Change{"Serial", "pipeline.mode=serial"},
                                         Change{"Static", "pipeline.distribution=static"},
                                         Change{"Messages", "pipeline.scatter=messages"},
                                         Change{"TwoDevices", "run.devices=2"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sluice::test
