#include "core/machine/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

CpuSet cpus(const char* text) {
    return CpuSet::parse(text).value();
}

/// Sockets of `cores` cores with `threads` hardware threads and `gpus` GPUs each.
Topology sockets(std::uint32_t count, std::uint32_t cores, std::uint32_t gpus, std::uint32_t threads = 1) {
    Topology topology;
    for (std::uint32_t socket = 0; socket < count; ++socket) {
        CpuSet all;
        for (std::uint32_t core = socket * cores; core < (socket + 1) * cores; ++core) {
            CpuSet of_core;
            for (std::uint32_t thread = 0; thread < threads; ++thread) {
                of_core.add(core + thread * count * cores);
            }
            topology.cores.push_back({.number = core, .cpus = of_core});
            all |= of_core;
        }
        topology.packages.push_back({.number = socket, .cpus = all});
        topology.numa_nodes.push_back({.number = socket, .cpus = all});
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
            const std::string bus = std::to_string(10 + socket * gpus + gpu);
            topology.gpus.push_back({.pci = "0000:" + bus + ":00.0", .uuid = "GPU-" + bus, .near = all});
        }
        topology.cpus |= all;
    }
    topology.allowed = topology.mask = topology.cpus;
    return topology;
}

std::vector<VisibleGpu> all_gpus(const Topology& topology) {
    return visible_gpus(topology, std::nullopt).gpus;
}

RankLayout on_host(const std::vector<const char*>& masks, std::uint32_t quota = 0) {
    RankLayout layout;
    for (const char* mask : masks) {
        layout.ranks.push_back({.mask = cpus(mask), .quota_cpus = quota});
    }
    return layout;
}

std::vector<std::size_t> device_counts(const Placement& placement) {
    std::vector<std::size_t> counts;
    for (const RankPlace& rank : placement.ranks) {
        counts.push_back(rank.devices.size());
    }
    return counts;
}

using Counts = std::vector<std::size_t>;

TEST(HostDevices, AreOneACoreForASingleRank) {
    EXPECT_EQ(device_counts(place(sockets(1, 8, 0), on_host({"0-7"}))), Counts{8});
    EXPECT_EQ(device_counts(place(sockets(1, 8, 0, 2), on_host({"0-15"}))), Counts{8});
}

TEST(HostDevices, AreEachRanksOwnCoresWhenMasksAreApart) {
    EXPECT_EQ(device_counts(place(sockets(1, 8, 0), on_host({"0-3", "4-5"}))), (Counts{4, 2}));
}

TEST(HostDevices, AreSharedEvenlyWhenMasksOverlapAndTheFirstRanksGetTheRemainder) {
    EXPECT_EQ(device_counts(place(sockets(1, 8, 0), on_host({"0-7", "0-7"}))), (Counts{4, 4}));
    EXPECT_EQ(device_counts(place(sockets(1, 11, 0), on_host({"0-10", "0-10", "0-10", "0-10"}))), (Counts{3, 3, 3, 2}));
    EXPECT_EQ(device_counts(place(sockets(1, 4, 0), on_host({"0-3", "0-1"}))), (Counts{2, 2}));
}

TEST(HostDevices, AreOneEachWhenRanksOutnumberCoresAndTiedToNone) {
    const Placement placement = place(sockets(1, 2, 0), on_host({"0-1", "0-1", "0-1", "0-1"}));

    EXPECT_EQ(device_counts(placement), (Counts{1, 1, 1, 1}));
    for (const RankPlace& rank : placement.ranks) {
        EXPECT_EQ(rank.devices[0].cpus, cpus("0-1"));
        EXPECT_EQ(rank.comm, cpus("0-1"));
        EXPECT_FALSE(rank.has_own_cores);
    }
    EXPECT_THAT(placement.notes, Contains(HasSubstr("ranks 0-3 share 2 cores (CPUs 0-1)")));
}

TEST(HostDevices, FollowTheQuotaRatherThanTheMaskAndAreTiedToNoCore) {
    const Placement placement = place(sockets(1, 64, 0), on_host({"0-63", "0-63"}, 4));

    EXPECT_EQ(device_counts(placement), (Counts{2, 2}));
    EXPECT_EQ(placement.ranks[1].devices[1].cpus, cpus("0-63"));
    EXPECT_THAT(placement.notes, Contains(HasSubstr("the cgroup's CPU quota is worth 4 of 64 cores")));
}

TEST(HostDevices, LeaveRoomWhenTheJobWantsFewer) {
    RankLayout layout = on_host({"0-7"});
    layout.devices = 1;

    const Placement placement = place(sockets(1, 8, 0), layout);

    EXPECT_EQ(placement.ranks[0].devices[0].cpus, cpus("0-7")) << "another job may be on the first core";
    EXPECT_THAT(placement.notes, IsEmpty());
}

TEST(HostDevices, TakeHardwareThreadsWhenTheJobWantsMoreThanCores) {
    RankLayout layout = on_host({"0-7"});
    layout.devices = 8;

    const Placement placement = place(sockets(1, 4, 0, 2), layout);

    EXPECT_EQ(placement.ranks[0].devices[3].cpus, cpus("3"));
    EXPECT_EQ(placement.ranks[0].devices[4].cpus, cpus("4")) << "second threads come last";
}

RankLayout on_gpus(const Topology& topology, const std::vector<const char*>& masks) {
    RankLayout layout{.device = DeviceKind::cuda};
    for (const char* mask : masks) {
        layout.ranks.push_back({.mask = cpus(mask), .gpus = all_gpus(topology)});
    }
    layout.reader = 0;
    return layout;
}

TEST(Placement, GivesEachRankTheGpuOfItsOwnNumaNodeAlsoWhenRanksGoRound) {
    const Topology topology = sockets(2, 8, 2);

    const Placement placement = place(topology, on_gpus(topology, {"0-3", "8-11", "4-7", "12-15"}));

    EXPECT_EQ(placement.ranks[0].devices[0].number, 0U);
    EXPECT_EQ(placement.ranks[1].devices[0].number, 2U);
    EXPECT_EQ(placement.ranks[2].devices[0].number, 1U);
    EXPECT_EQ(placement.ranks[3].devices[0].number, 3U);
    EXPECT_THAT(placement.notes, IsEmpty());
}

TEST(Placement, PutsPinnedMemoryOnTheGpusNode) {
    const Topology topology = sockets(2, 8, 1);

    const Placement placement = place(topology, on_gpus(topology, {"0-15"}));

    ASSERT_EQ(placement.ranks[0].devices.size(), 2U);
    EXPECT_EQ(placement.ranks[0].devices[0].memory_node, 0U);
    EXPECT_EQ(placement.ranks[0].devices[1].memory_node, 1U);
}

TEST(Placement, SaysWhenAGpuIsFarFromItsDriver) {
    const Topology topology = sockets(2, 4, 1);

    const Placement placement = place(topology, on_gpus(topology, {"0-3", "0-3"}));

    EXPECT_TRUE(placement.ranks[0].devices[0].is_near);
    EXPECT_FALSE(placement.ranks[1].devices[0].is_near);
    EXPECT_THAT(placement.notes, Contains(HasSubstr("rank 1: GPU 11:00.0 is attached to CPUs 4-7, but its driver runs "
                                                    "on CPUs ")));
}

TEST(Placement, SaysWhenGpusAreSharedOrNobodys) {
    const Topology topology = sockets(1, 8, 2);
    RankLayout layout = on_gpus(topology, {"0-7", "0-7", "0-7"});
    EXPECT_THAT(place(topology, layout).notes, Contains(HasSubstr("GPU 10:00.0: ranks 0,2 share it")));

    layout.ranks.resize(1);
    layout.devices = 1;
    EXPECT_THAT(place(topology, layout).notes, Contains(HasSubstr("GPU 11:00.0: no rank drives it")));
}

TEST(Placement, CountsTheRanksOfEachGpu) {
    const Placement placement = place(sockets(1, 8, 2), on_gpus(sockets(1, 8, 2), {"0-7", "0-7", "0-7"}));

    EXPECT_EQ(placement.ranks[0].devices[0].ranks, 2U);
    EXPECT_EQ(placement.ranks[1].devices[0].ranks, 1U);
    EXPECT_EQ(placement.ranks[2].devices[0].ranks, 2U);
}

TEST(Placement, TakesCoresElsewhereWhenThoseNearTheGpuAreTooFew) {
    const Topology topology = sockets(2, 2, 2);
    RankLayout layout = on_gpus(topology, {"0-3", "0-3"});
    for (NodeRank& rank : layout.ranks) {
        rank.gpus.resize(2);  // both on the first socket
    }
    layout.reader.reset();

    const Placement placement = place(topology, layout);

    EXPECT_EQ(placement.ranks[0].cpus, cpus("0,2")) << "a driver near its GPU, the comm thread elsewhere";
    EXPECT_EQ(placement.ranks[1].cpus, cpus("1,3"));
}

TEST(Placement, RefusesMoreGpusThanARankSees) {
    const Topology topology = sockets(1, 4, 2);
    RankLayout layout = on_gpus(topology, {"0-3"});
    layout.devices = 3;

    EXPECT_THROW(static_cast<void>(place(topology, layout)), Error);
}

TEST(Placement, LetsOneRankReadAndNoOther) {
    const Placement placement = place(sockets(1, 8, 0), [] {
        RankLayout layout = on_host({"0-3", "4-7"});
        layout.reader = 1;
        return layout;
    }());

    EXPECT_EQ(placement.ranks[0].reader_threads, 0U);
    EXPECT_EQ(placement.ranks[1].reader_threads, 2U);
}

TEST(Readers, AreOneToEight) {
    EXPECT_EQ(planned_readers(1), 1U);
    EXPECT_EQ(planned_readers(3), 1U);
    EXPECT_EQ(planned_readers(8), 4U);
    EXPECT_EQ(planned_readers(192), 8U);
}

TEST(BlockMasks, AreRunsOfWholeCoresAsSlurmGivesThem) {
    const Topology plain = sockets(2, 4, 0);
    const Topology threaded = sockets(1, 4, 0, 2);  // CPUs 0 and 4 are one core

    EXPECT_EQ(block_masks(plain, 2, 3), (std::vector<CpuSet>{cpus("0-2"), cpus("3-5")}));
    EXPECT_EQ(block_masks(threaded, 2, 3), (std::vector<CpuSet>{cpus("0-1,4-5"), cpus("2-3,6-7")}));
    EXPECT_EQ(block_masks(plain, 8, 1).back(), cpus("7"));
    EXPECT_THAT(block_masks(plain, 3, 3), IsEmpty()) << "nine of eight";
    EXPECT_THAT(block_masks(plain, 1, 9), IsEmpty());
}

TEST(BlockMasks, LieWithinTheMask) {
    Topology topology = sockets(1, 8, 0);
    topology.mask = cpus("2-3,6-7");

    EXPECT_EQ(block_masks(topology, 2, 2), (std::vector<CpuSet>{cpus("2-3"), cpus("6-7")}));
}

TEST(Quota, IsCountedOnceForRanksOfOneCgroupWhoseMasksAreApart) {
    const std::vector<const char*> apart{"0-3", "4-7", "8-11", "12-15"};

    const Placement shared = place(sockets(1, 16, 0), on_host(apart, 4));
    RankLayout own = on_host(apart, 4);
    for (std::size_t i = 0; i < own.ranks.size(); ++i) {
        own.ranks[i].quota_group = i + 1;
    }
    const Placement of_own = place(sockets(1, 16, 0), own);

    EXPECT_EQ(device_counts(shared), (Counts{1, 1, 1, 1})) << "a quota of four CPUs for all of them";
    EXPECT_THAT(shared.notes, Contains(HasSubstr("ranks 0-3: the cgroup's CPU quota is worth 4 of 16 cores")));
    EXPECT_EQ(device_counts(of_own), (Counts{4, 4, 4, 4})) << "a quota of four CPUs for each";
    EXPECT_THAT(of_own.notes, IsEmpty());
}

TEST(Quota, GivesTheFirstRanksTheRemainder) {
    EXPECT_EQ(device_counts(place(sockets(1, 12, 0), on_host({"0-3", "4-7", "8-11"}, 5))), (Counts{2, 2, 1}));
}

TEST(RanksWithoutHwloc, ChooseDifferentGpusAlthoughEachKnowsItsOwnCpusOnly) {
    const std::vector<CpuSet> masks{cpus("0-3"), cpus("4-7")};
    const std::vector<CudaGpu> gpus{{.uuid = "GPU-a", .pci = "0000:10:00.0"}, {.uuid = "GPU-b", .pci = "0000:20:00.0"}};
    RankLayout layout{.device = DeviceKind::cuda};
    for (const CpuSet& mask : masks) {
        layout.ranks.push_back({.mask = mask, .gpus = visible_gpus(gpus)});
    }

    std::vector<std::vector<std::uint32_t>> chosen;
    for (std::size_t me = 0; me < masks.size(); ++me) {
        Topology topology = common_topology(flat_topology(masks[me]), masks, true);
        add_cuda_gpus(topology, gpus);
        EXPECT_EQ(topology.mask, masks[me]);
        std::vector<std::uint32_t>& numbers = chosen.emplace_back();
        for (const RankPlace& rank : place(topology, layout).ranks) {
            EXPECT_TRUE(rank.has_own_cores);
            numbers.push_back(rank.devices.at(0).number);
        }
    }

    EXPECT_EQ(chosen[0], chosen[1]) << "both ranks expect the same";
    EXPECT_NE(chosen[0][0], chosen[0][1]);
}

/// Any machine, masks, quotas and GPUs.
struct AnyNode {
    Topology topology{};
    RankLayout layout{};
};

AnyNode any_node(std::mt19937& random) {
    const auto up_to = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most + 1); };
    AnyNode node{.topology = sockets(up_to(4), up_to(12), up_to(4) - 1, up_to(2))};
    node.layout.device = node.topology.gpus.empty() || random() % 3 == 0 ? DeviceKind::host : DeviceKind::cuda;
    const std::vector<std::uint32_t> all = node.topology.cpus.cpus();
    for (std::uint32_t rank = up_to(9); rank > 0; --rank) {
        NodeRank one{.quota_cpus = random() % 5 == 0 ? up_to(8) : 0};
        const bool narrow = random() % 2 == 0;
        for (const std::uint32_t cpu : all) {
            if (!narrow || random() % 3 == 0) {
                one.mask.add(cpu);
            }
        }
        one.mask |= one.mask.empty() ? CpuSet::range(all.back(), all.back()) : CpuSet();
        if (node.layout.device == DeviceKind::cuda) {
            one.gpus = all_gpus(node.topology);
            std::ranges::shuffle(one.gpus, random);
            one.gpus.resize(random() % (one.gpus.size() + 1));
        }
        node.layout.ranks.push_back(one);
    }
    node.layout.reader = up_to(9) % node.layout.ranks.size();
    return node;
}

void expect_sound(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    ASSERT_EQ(placement.ranks.size(), layout.ranks.size());
    for (std::size_t i = 0; i < layout.ranks.size(); ++i) {
        const RankPlace& rank = placement.ranks[i];
        const NodeRank& given = layout.ranks[i];
        SCOPED_TRACE("rank " + std::to_string(i) + " of mask " + given.mask.text());
        EXPECT_FALSE(rank.cpus.empty());
        EXPECT_TRUE(given.mask.contains(rank.cpus)) << rank.cpus.text();
        std::vector<CpuSet> threads{rank.comm, rank.readers};
        for (const DevicePlace& device : rank.devices) {
            threads.push_back(device.cpus);
        }
        for (const CpuSet& thread : threads) {
            EXPECT_FALSE(thread.empty());
            EXPECT_TRUE(rank.cpus.contains(thread)) << thread.text() << " outside of " << rank.cpus.text();
        }
        EXPECT_EQ(rank.devices.empty(), layout.device == DeviceKind::cuda && given.gpus.empty());
        EXPECT_EQ(rank.reader_threads > 0, layout.reader == i);
        EXPECT_GE(rank.cores, 1U);
        for (std::size_t other = 0; other < i && rank.has_own_cores; ++other) {
            const RankPlace& before = placement.ranks[other];
            if (before.has_own_cores) {
                for (const Core& core : topology.cores) {
                    EXPECT_FALSE(core.cpus.meets(rank.cpus) && core.cpus.meets(before.cpus))
                        << "core " << core.number << " is rank " << other << "'s, too";
                }
            }
        }
    }
}

TEST(Placement, IsSoundOnAnyMachine) {
    const auto seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 500; ++round) {
        const AnyNode node = any_node(random);

        expect_sound(node.topology, node.layout, place(node.topology, node.layout));

        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "round " << round;
            return;
        }
    }
}

TEST(Placement, DrivesEveryGpuOnceWhenThereAreNoMoreRanks) {
    for (std::uint32_t gpus = 1; gpus <= 4; ++gpus) {
        const Topology topology = sockets(2, 16, gpus);
        for (std::uint32_t ranks = 1; ranks <= 2 * gpus; ++ranks) {
            const Placement placement = place(topology, equal_ranks(topology, all_gpus(topology), ranks));
            std::vector<std::uint32_t> driven;
            for (const RankPlace& rank : placement.ranks) {
                for (const DevicePlace& device : rank.devices) {
                    driven.push_back(device.number);
                    EXPECT_TRUE(device.is_near);
                    EXPECT_FALSE(device.cpus.meets(rank.comm));
                }
            }
            std::ranges::sort(driven);
            EXPECT_EQ(driven.size(), 2 * gpus);
            EXPECT_EQ(std::ranges::adjacent_find(driven), driven.end());
            EXPECT_THAT(placement.notes, IsEmpty());
        }
    }
}

}  // namespace
}  // namespace sluice
