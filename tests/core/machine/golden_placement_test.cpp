#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "core/machine/placement.hpp"
#include "core/machine/placement_text.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "tests/support/files.hpp"
#include "tests/support/text_diff.hpp"

namespace sluice {
namespace {

const std::filesystem::path folder = SLUICE_SOURCE_DIR "/tests/fixtures/topology";

/// A machine, what a process sees of it, and the map that is expected: `golden`.RANKS.txt beside the machine.
struct Scene {
    const char* golden;
    const char* xml;
    std::optional<std::string> cuda_visible_devices{};
    const char* mask = "";  ///< The launcher's; empty: none.
};

void PrintTo(const Scene& scene, std::ostream* out) {
    *out << scene.golden;
}

std::string placed(const Scene& scene, std::optional<std::uint32_t> ranks) {
    Topology topology = read_topology(folder / (std::string(scene.xml) + ".xml"));
    if (*scene.mask != '\0') {
        topology.mask = CpuSet::parse(scene.mask).value() & topology.allowed;
    }
    const VisibleGpus visible = visible_gpus(topology, scene.cuda_visible_devices);
    const RankLayout layout = equal_ranks(topology, visible.gpus, ranks);
    Placement placement = place(topology, layout);
    placement.notes.insert(placement.notes.begin(), visible.notes.begin(), visible.notes.end());
    return topology_text(topology, layout, placement);
}

/// Compares with the file; with SLUICE_WRITE_GOLDEN set it writes the file instead, and fails: `git diff` is to be
/// read.
void expect_golden(const Scene& scene, const std::string& ranks, const std::string& actual) {
    const std::filesystem::path file = folder / (std::string(scene.golden) + "." + ranks + ".txt");
    if (std::getenv("SLUICE_WRITE_GOLDEN") != nullptr) {
        std::ofstream(file, std::ios::binary) << actual;
        ADD_FAILURE() << file << " was written; read it, and run the test again without SLUICE_WRITE_GOLDEN";
        return;
    }
    EXPECT_EQ(test::text_diff(test::contents(file), actual), "") << file;
}

class GoldenPlacement : public testing::TestWithParam<Scene> {};

TEST_P(GoldenPlacement, OfOneRankAGpu) {
    expect_golden(GetParam(), "rank_a_gpu", placed(GetParam(), std::nullopt));
}

TEST_P(GoldenPlacement, OfOneRankANode) {
    expect_golden(GetParam(), "rank_a_node", placed(GetParam(), 1));
}

const auto name_of_scene = [](const auto& scene) { return std::string(scene.param.golden); };

INSTANTIATE_TEST_SUITE_P(Machines, GoldenPlacement,
                         testing::Values(Scene{"two_socket_four_gpu", "two_socket_four_gpu"},
                                         Scene{"one_node_four_gpu", "one_node_four_gpu"},
                                         Scene{"two_socket_eight_gpu_two_nic", "two_socket_eight_gpu_two_nic"},
                                         Scene{"smt_two_gpu", "smt_two_gpu"}, Scene{"smt_few_cores", "smt_few_cores"},
                                         Scene{"cgroup_cut", "cgroup_cut"}, Scene{"nps4_four_gpu", "nps4_four_gpu"},
                                         Scene{"nps8_four_gpu", "nps8_four_gpu"}, Scene{"grace_hopper", "grace_hopper"},
                                         Scene{"virtual_machine", "virtual_machine"},
                                         Scene{"two_cores_four_gpu", "two_cores_four_gpu"},
                                         Scene{"uuid_three_gpu", "uuid_three_gpu"}),
                         name_of_scene);

INSTANTIATE_TEST_SUITE_P(Masks, GoldenPlacement,
                         testing::Values(Scene{"mask_at_two_of_four_gpus", "two_socket_four_gpu", {}, "0-1"},
                                         Scene{"mask_of_one_cpu", "two_socket_eight_gpu_two_nic", {}, "20"},
                                         Scene{"mask_of_second_threads", "smt_two_gpu", {}, "8-15"}),
                         name_of_scene);

INSTANTIATE_TEST_SUITE_P(
    VisibleDevices, GoldenPlacement,
    testing::Values(Scene{"visible_by_index", "uuid_three_gpu", "2,0"},
                    Scene{"visible_by_uuid", "uuid_three_gpu", "GPU-c0ffee,GPU-5b2f1c"},
                    Scene{"visible_instance", "uuid_three_gpu", "MIG-GPU-c0ffee00-0000-4000-8000-00000000000c/3/0"},
                    Scene{"visible_unknown_instance", "uuid_three_gpu", "MIG-11112222-0000-4000-8000-000000000001"},
                    Scene{"visible_none", "uuid_three_gpu", ""}),
    name_of_scene);

class GoldenHostPlacement : public testing::TestWithParam<Scene> {};

TEST_P(GoldenHostPlacement, OfOneRankANode) {
    expect_golden(GetParam(), "rank_a_node", placed(GetParam(), 1));
}

TEST_P(GoldenHostPlacement, OfFourRanks) {
    expect_golden(GetParam(), "four_ranks", placed(GetParam(), 4));
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenHostPlacement,
                         testing::Values(Scene{"two_socket_no_gpu", "two_socket_no_gpu"}, Scene{"laptop", "laptop"},
                                         Scene{"one_core", "one_core"}),
                         name_of_scene);

}  // namespace
}  // namespace sluice
