#include "core/gpu_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"

namespace sluice {
namespace {

using Gpus = std::vector<std::uint32_t>;

/// What each of `ranks` ranks drives that all see the same `gpus` GPUs.
std::vector<Gpus> shares(std::size_t ranks, std::size_t gpus, std::optional<std::uint32_t> wanted = {}) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < gpus; ++i) {
        list.push_back("GPU-" + std::to_string(i));
    }
    const std::vector<std::vector<std::string>> ids(ranks, list);
    std::vector<Gpus> all;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        all.push_back(gpus_of(ids, rank, wanted));
    }
    return all;
}

TEST(GpuShare, IsOneEachForAsManyRanks) {
    EXPECT_EQ(shares(4, 4), (std::vector<Gpus>{{0}, {1}, {2}, {3}}));
}

TEST(GpuShare, IsAllForARankAlone) {
    EXPECT_EQ(shares(1, 4), (std::vector<Gpus>{{0, 1, 2, 3}}));
}

TEST(GpuShare, IsOfNeighboursAndGivesTheRemainderToTheFirst) {
    EXPECT_EQ(shares(2, 8), (std::vector<Gpus>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    EXPECT_EQ(shares(3, 8), (std::vector<Gpus>{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
}

TEST(GpuShare, LeavesNoRankWithoutAndSpreadsThem) {
    EXPECT_EQ(shares(5, 2), (std::vector<Gpus>{{0}, {1}, {0}, {1}, {0}}));
}

TEST(GpuShare, IsWhatTheJobWantsApartAsLongAsThereAreEnough) {
    EXPECT_EQ(shares(2, 4, 1), (std::vector<Gpus>{{0}, {1}}));
    EXPECT_EQ(shares(2, 4, 2), (std::vector<Gpus>{{0, 1}, {2, 3}}));
    EXPECT_EQ(shares(2, 4, 3), (std::vector<Gpus>{{0, 1, 2}, {3, 0, 1}}));
}

TEST(GpuShare, IsARanksOwnWhereEachSeesAnother) {
    const std::vector<std::vector<std::string>> ids{{"GPU-a"}, {"GPU-b"}, {"GPU-c", "GPU-d"}};

    EXPECT_EQ(gpus_of(ids, 0, {}), Gpus{0});
    EXPECT_EQ(gpus_of(ids, 1, {}), Gpus{0});
    EXPECT_EQ(gpus_of(ids, 2, {}), (Gpus{0, 1}));
}

TEST(GpuShare, IsNothingWhereThereIsNone) {
    EXPECT_EQ(shares(2, 0), (std::vector<Gpus>{{}, {}}));
}

TEST(GpuShare, RefusesMoreThanARankSees) {
    try {
        static_cast<void>(shares(1, 2, 3));
        ADD_FAILURE() << "did not fail";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::configuration);
        EXPECT_EQ(error.text().what, "3 GPUs were asked for, but this rank sees 2");
    }
}

TEST(GpuShare, CoversEveryGpuOnceWhenThereAreNoMoreRanks) {
    for (std::size_t gpus = 1; gpus < 12; ++gpus) {
        for (std::size_t ranks = 1; ranks <= gpus; ++ranks) {
            Gpus all;
            for (const Gpus& share : shares(ranks, gpus)) {
                all.insert(all.end(), share.begin(), share.end());
            }
            std::ranges::sort(all);
            ASSERT_EQ(all.size(), gpus);
            EXPECT_EQ(all.back(), gpus - 1);
            EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
        }
    }
}

}  // namespace
}  // namespace sluice
