#include "core/machine/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

const std::filesystem::path fixtures = SLUICE_SOURCE_DIR "/tests/fixtures/topology";

CpuSet cpu_set(const char* text) {
    return CpuSet::parse(text).value();
}

TEST(PciAddress, IsWrittenInOneWay) {
    EXPECT_EQ(normal_pci("0000:17:00.0"), "0000:17:00.0");
    EXPECT_EQ(normal_pci("00000000:AA:1F.7"), "0000:aa:1f.7");
    EXPECT_EQ(normal_pci("17:00.0"), "0000:17:00.0");
    EXPECT_EQ(normal_pci("00010009:01:00.0"), "10009:01:00.0");
    for (const char* wrong : {"", ".", ":", ":.", "17", "17:00", "00.0", "x:17:00.0", "0000:17:00.", "GPU-17:00.0"}) {
        EXPECT_EQ(normal_pci(wrong), "") << wrong;
    }
    EXPECT_EQ(short_pci("0000:17:00.0"), "17:00.0");
    EXPECT_EQ(short_pci("0009:01:00.0"), "0009:01:00.0");
}

TEST(Topology, HoldsWhatTheXmlSays) {
    const Topology topology = read_topology(fixtures / "two_socket_four_gpu.xml");

    ASSERT_EQ(topology.gpus.size(), 4U);
    EXPECT_EQ(topology.gpus[0].pci, "0000:17:00.0");
    EXPECT_EQ(topology.gpus[0].name, "NVIDIA H200");
    EXPECT_EQ(topology.gpus[1].near, cpu_set("0-3"));
    EXPECT_EQ(topology.gpus[2].near, cpu_set("4-7"));
    ASSERT_EQ(topology.nics.size(), 2U);
    EXPECT_EQ(topology.nics[1].name, "mlx5_1");
    EXPECT_TRUE(topology.nics[1].fabric);
    EXPECT_EQ(topology.cores.size(), 8U);
    EXPECT_EQ(topology.packages.size(), 2U);
    EXPECT_EQ(topology.mask, cpu_set("0-7"));
    EXPECT_FALSE(topology.why_unbindable.empty());
}

TEST(Topology, KeepsWhatTheCgroupDoesNotAllow) {
    const Topology topology = read_topology(fixtures / "cgroup_cut.xml");

    EXPECT_EQ(topology.cpus, cpu_set("0-15"));
    EXPECT_EQ(topology.allowed, cpu_set("6-11"));
    EXPECT_EQ(topology.cores.size(), 16U);
    EXPECT_EQ(topology.gpus.size(), 4U);
}

TEST(Topology, KnowsAnAdapterByItsFabricsName) {
    const Topology topology = read_topology(fixtures / "two_socket_eight_gpu_two_nic.xml");

    ASSERT_EQ(topology.nics.size(), 3U);
    EXPECT_EQ(topology.nics[0].name, "mlx5_0");
    EXPECT_EQ(topology.nics[1].name, "eth0");
    EXPECT_FALSE(topology.nics[1].fabric);
}

TEST(Topology, CountsHardwareThreadsAsCoresWhereThereIsNothingElse) {
    EXPECT_EQ(read_topology(fixtures / "virtual_machine.xml").cores.size(), 8U);
}

TEST(Topology, BelievesTheGpusOwnMemoryRatherThanTheBus) {
    const Topology topology = read_topology(fixtures / "grace_hopper.xml");

    ASSERT_EQ(topology.gpus.size(), 2U);
    EXPECT_EQ(topology.gpus[1].near, cpu_set("8-15"));
    EXPECT_EQ(memory_node_of(topology, cpu_set("9")), 1U) << "not the GPU's own memory";
}

TEST(Topology, LearnsFromCudaWhatTheBusDoesNotTell) {
    Topology topology = read_topology(fixtures / "two_socket_four_gpu.xml");

    add_cuda_gpus(topology,
                  std::vector<CudaGpu>{{.uuid = "GPU-a", .pci = "0000:AA:00.0", .name = "H", .host_numa_node = 0},
                                       {.uuid = "GPU-b", .pci = "0000:05:00.0", .name = "H"}});

    ASSERT_EQ(topology.gpus.size(), 5U);
    EXPECT_EQ(topology.gpus[0].uuid, "GPU-b") << "a GPU that the topology lacked, in the order of addresses";
    EXPECT_EQ(topology.gpus[0].near, topology.cpus);
    EXPECT_EQ(topology.gpus[4].uuid, "GPU-a");
    EXPECT_EQ(topology.gpus[4].near, cpu_set("0-3")) << "the GPU's word against the bus's";
}

TEST(Topology, OfACpuListIsFlat) {
    const Topology topology = flat_topology(cpu_set("2,5-6"));

    EXPECT_EQ(topology.cores.size(), 3U);
    EXPECT_EQ(cores_in(topology, cpu_set("5-9")), 2U);
    EXPECT_EQ(memory_node_of(topology, cpu_set("5")), 0U);
    EXPECT_EQ(memory_node_of(topology, CpuSet()), std::nullopt);
}

TEST(Topology, OfThisMachineHasTheCpusThatWeRunOn) {
    const Machine machine = read_machine(TopologyDetail::devices);
    const Topology& topology = machine.topology;

    EXPECT_FALSE(topology.mask.empty());
    EXPECT_TRUE(topology.allowed.contains(topology.mask));
    EXPECT_TRUE(topology.cpus.contains(topology.allowed));
    EXPECT_GE(cores_in(topology, topology.mask), 1U);
    CpuSet of_cores;
    for (const Core& core : topology.cores) {
        EXPECT_FALSE(core.cpus.meets(of_cores)) << "core " << core.number << " shares a CPU";
        of_cores |= core.cpus;
    }
    EXPECT_EQ(of_cores, topology.cpus);
}

struct BadXml {
    const char* name;
    std::string text;
};

class TopologyOfABadFile : public testing::TestWithParam<BadXml> {};

TEST_P(TopologyOfABadFile, IsRefused) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "bad.xml";
    std::ofstream(file, std::ios::binary) << GetParam().text;

    const Error error = test::error_of([&] { return read_topology(file); });

    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.text().id, "E-HWL-121");
    EXPECT_THAT(error.text().where, HasSubstr("bad.xml"));
}

std::string machine_with(const std::string& root_cpus, const std::string& inside) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
           "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"" +
           root_cpus + "\" complete_cpuset=\"" + root_cpus + "\" allowed_cpuset=\"" + root_cpus +
           "\" nodeset=\"0x1\" complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">" + inside +
           "</object></topology>\n";
}

/// hwloc 2.9 dies of it.
constexpr const char* memory_without_a_set =
    "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" gp_index=\"2\" "
    "local_memory=\"1000\"/><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
    "complete_nodeset=\"0x1\" gp_index=\"3\"/>";

INSTANTIATE_TEST_SUITE_P(Texts, TopologyOfABadFile,
                         testing::Values(BadXml{"empty", ""}, BadXml{"words", "not xml\n"},
                                         BadXml{"html", "<html><body>404</body></html>"},
                                         BadXml{"no_objects", "<topology version=\"2.0\"></topology>"},
                                         BadXml{"no_cpus", machine_with("0x1", "")},
                                         BadXml{"deadly", machine_with("0x1", memory_without_a_set)},
                                         BadXml{"cut", machine_with("0x1", "").substr(0, 300)},
                                         BadXml{"nul", std::string("<?xml\0version", 13)}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Topology, RefusesAFileThatCannotBeOpened) {
    for (const char* path : {"/nonexistent/node.xml", "/", "/dev/zero"}) {
        const Error error = test::error_of([&] { return read_topology(path); });

        EXPECT_EQ(error.code(), ExitCode::no_input) << path;
        EXPECT_EQ(error.text().id, "E-HWL-120");
    }
}

}  // namespace
}  // namespace sluice
