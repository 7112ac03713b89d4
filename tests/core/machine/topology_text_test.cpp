#include "core/machine/placement_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string drawn(const Topology& topology, const RankLayout& layout) {
    return topology_text(topology, layout, place(topology, layout));
}

TEST(TopologyText, ShowsInstancesOfAGpuAndWhoDrivesEach) {
    const std::vector<CudaGpu> first{{.uuid = "MIG-aa", .pci = "0000:17:00.0", .name = "NVIDIA H200 MIG 1g.18gb"}};
    const std::vector<CudaGpu> second{{.uuid = "MIG-bb", .pci = "0000:17:00.0", .name = "NVIDIA H200 MIG 1g.18gb"}};
    Topology topology = flat_topology(CpuSet::range(0, 7));
    add_cuda_gpus(topology, first);
    add_cuda_gpus(topology, second);
    RankLayout layout{.device = DeviceKind::cuda};
    for (const auto& gpus : {first, second}) {  // a process sees one instance at most
        layout.ranks.push_back({.mask = topology.mask, .gpus = visible_gpus(gpus)});
    }

    const std::string text = drawn(topology, layout);

    ASSERT_EQ(topology.gpus.size(), 1U);
    EXPECT_EQ(topology.gpus[0].uuid, "") << "that of an instance is not the GPU's";
    EXPECT_THAT(text, HasSubstr("    GPU  17:00.0  NVIDIA H200  in instances\n"
                                "    MIG           MIG-aa       rank 0\n"
                                "    MIG           MIG-bb       rank 1\n"));
    EXPECT_THAT(text, Not(HasSubstr("share it")));
}

TEST(TopologyText, ExplainsItsSignForRanksWithoutADigit) {
    const Topology topology = flat_topology(CpuSet::range(0, 39));
    const std::string sign = "  # a rank beyond z, which is 35\n";

    const std::string few = drawn(topology, equal_ranks(topology, {}, 36));
    const std::string many = drawn(topology, equal_ranks(topology, {}, 37));

    EXPECT_THAT(few, Not(HasSubstr("#")));
    EXPECT_THAT(many, HasSubstr(sign));
}

}  // namespace
}  // namespace sluice
