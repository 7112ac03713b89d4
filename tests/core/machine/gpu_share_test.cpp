#include "core/machine/gpu_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

using Gpus = std::vector<std::uint32_t>;

/// `gpus` GPUs of one place.
std::vector<SeenGpu> seen(std::size_t gpus) {
    std::vector<SeenGpu> list;
    for (std::size_t i = 0; i < gpus; ++i) {
        list.push_back({.id = "GPU-" + std::to_string(i)});
    }
    return list;
}

/// What each of `ranks` ranks drives that all see the same `gpus` GPUs.
std::vector<Gpus> shares(std::size_t ranks, std::size_t gpus, std::optional<std::uint32_t> wanted = {}) {
    return share_gpus(std::vector(ranks, seen(gpus)), wanted);
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
    const std::vector<std::vector<SeenGpu>> ranks{
        {{.id = "GPU-a"}}, {{.id = "GPU-b"}}, {{.id = "GPU-c"}, {.id = "GPU-d"}}};

    EXPECT_EQ(share_gpus(ranks, {}), (std::vector<Gpus>{{0}, {0}, {0, 1}}));
}

TEST(GpuShare, IsOfTheSameGpusInWhateverOrderARankSeesThem) {
    const std::vector<std::vector<SeenGpu>> ranks{{{.id = "GPU-a"}, {.id = "GPU-b"}},
                                                  {{.id = "GPU-b"}, {.id = "GPU-a"}}};

    EXPECT_EQ(share_gpus(ranks, {}), (std::vector<Gpus>{{0}, {0}})) << "each its own first one";
}

/// Two GPUs at each of two places, of which a rank may run at the first, the second, or both.
std::vector<SeenGpu> two_places(bool at_first, bool at_second) {
    std::vector<SeenGpu> gpus = seen(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        gpus[i].locality = i / 2;
        gpus[i].near = i / 2 == 0 ? at_first : at_second;
    }
    return gpus;
}

TEST(GpuShare, IsOfGpusNearTheRanksCpusWhateverTheOrderOfRanks) {
    const auto first = two_places(true, false);
    const auto second = two_places(false, true);

    EXPECT_EQ(share_gpus(std::vector{second, first, second, first}, {}), (std::vector<Gpus>{{2}, {0}, {3}, {1}}));
    EXPECT_EQ(share_gpus(std::vector{second, first}, {}), (std::vector<Gpus>{{2, 3}, {0, 1}}));
}

TEST(GpuShare, LetsRanksChooseFirstThatHaveFewerGpusNearThem) {
    const auto anywhere = two_places(true, true);
    const auto first = two_places(true, false);

    EXPECT_EQ(share_gpus(std::vector{anywhere, anywhere, first, first}, {}), (std::vector<Gpus>{{2}, {3}, {0}, {1}}));
}

TEST(GpuShare, IsEvenBeforeItIsNear) {
    const auto first = two_places(true, false);

    EXPECT_EQ(share_gpus(std::vector{first, first, first, first}, {}), (std::vector<Gpus>{{0}, {1}, {2}, {3}}));
    EXPECT_EQ(share_gpus(std::vector{first, first, first, first}, 2),
              (std::vector<Gpus>{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
    EXPECT_EQ(share_gpus(std::vector(6, first), {}), (std::vector<Gpus>{{0}, {1}, {0}, {1}, {2}, {3}}))
        << "at most two ranks on each";
}

TEST(GpuShare, KeepsPlacesTogetherThatIndexesMix) {
    std::vector<SeenGpu> gpus = seen(4);
    gpus[1].locality = gpus[3].locality = 1;

    EXPECT_EQ(share_gpus(std::vector{gpus, gpus}, {}), (std::vector<Gpus>{{0, 2}, {1, 3}}));
}

TEST(GpuShare, IsNothingWhereThereIsNone) {
    EXPECT_EQ(shares(2, 0), (std::vector<Gpus>{{}, {}}));
}

TEST(GpuShare, RefusesMoreThanARankSees) {
    const Error error = test::error_of([&] { return shares(1, 2, 3); });

    EXPECT_EQ(error.code(), ExitCode::configuration);
    EXPECT_EQ(error.text().what, "3 GPUs were requested, but this rank sees 2");
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
