#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string fixtures = SLUICE_SOURCE_DIR "/tests/fixtures/topology/";

/// `sluice topo` with the environment as it is, but for the variables given as NAME=VALUE.
ProcessResult topo(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words{"/usr/bin/env", "-u", "CUDA_VISIBLE_DEVICES"};
    words.insert(words.end(), environment.begin(), environment.end());
    words.insert(words.end(), {SLUICE_PROGRAM, "topo"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Process(words, {.folder = "/"}).wait();
}

TEST(Topo, DrawsThisMachine) {
    const ProcessResult result = topo({});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("NUMA node"));
    EXPECT_THAT(result.out, HasSubstr("on this node, CPUs of each thread"));
}

TEST(Topo, DrawsAnotherMachineAsTheGoldenMapHasIt) {
    const ProcessResult result = topo({"--xml", fixtures + "two_socket_four_gpu.xml", "--ranks-per-node", "1"});

    std::ifstream golden(fixtures + "two_socket_four_gpu.rank_a_node.txt");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, std::string(std::istreambuf_iterator<char>(golden), {}));
}

TEST(Topo, PrintsTheSameAsJson) {
    const ProcessResult result = topo({"--json", "--xml", fixtures + "two_socket_four_gpu.xml"});

    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("machine").at("gpus").size(), 4U);
    EXPECT_EQ(json.at("machine").at("gpus")[2].at("near"), "4-7");
    ASSERT_EQ(json.at("ranks").size(), 4U);
    const auto& rank = json.at("ranks")[2];
    EXPECT_EQ(rank.at("devices")[0].at("pci"), "0000:97:00.0");
    EXPECT_EQ(rank.at("devices")[0].at("driver"), "4");
    EXPECT_EQ(rank.at("devices")[0].at("memory_node"), 1);
    EXPECT_EQ(rank.at("nic"), "mlx5_1");
    EXPECT_EQ(json.at("notes").size(), 1U) << "two cores for driver, comm thread and readers of rank 0";
}

TEST(Topo, LooksAtCudaVisibleDevices) {
    const std::vector<std::string> machine{"--xml", fixtures + "uuid_three_gpu.xml"};

    EXPECT_THAT(topo(machine, {"CUDA_VISIBLE_DEVICES="}).out, HasSubstr("host x 12"));
    EXPECT_THAT(topo(machine, {"CUDA_VISIBLE_DEVICES=GPU-c0ff"}).out, HasSubstr("1 rank on this node"));
    EXPECT_THAT(topo(machine, {"CUDA_VISIBLE_DEVICES=0,9"}).out,
                HasSubstr("note: CUDA_VISIBLE_DEVICES: '9' is not an index of this machine's 3 GPUs"));
    EXPECT_THAT(topo(machine, {"CUDA_VISIBLE_DEVICES=\x1b]0;x\x07"}).out, Not(HasSubstr("\x1b")));
}

TEST(Topo, SaysWhenHwlocDescribesAnotherMachine) {
    const ProcessResult result = topo({}, {"HWLOC_XMLFILE=" + fixtures + "two_socket_four_gpu.xml"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("a run binds no thread to a core: hwloc was told to describe another machine"));
    EXPECT_THAT(result.out, Not(HasSubstr("H200"))) << "the machine drawn is the one that a run would use";
}

TEST(Topo, IsNotLedAstrayByHwlocsVariablesWhenItReadsAFile) {
    const ProcessResult result =
        topo({"--xml", fixtures + "laptop.xml"}, {"HWLOC_XMLFILE=" + fixtures + "two_socket_four_gpu.xml"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("i5-7200U"));
}

TEST(Topo, RefusesWhatIsNoMachine) {
    const TemporaryFolder folder;
    const std::string bad = (folder.path() / "bad.xml").string();
    std::ofstream(bad) << "<topology version=\"2.0\">";

    const ProcessResult garbled = topo({"--xml", bad});
    const ProcessResult missing = topo({"--xml", "none.xml"});

    EXPECT_EQ(garbled.exit_code, 65);
    EXPECT_TRUE(garbled.err.starts_with("sluice: error[E-HWL-121]: " + bad)) << garbled.err;
    EXPECT_EQ(garbled.out, "");
    EXPECT_EQ(missing.exit_code, 66);
    EXPECT_TRUE(missing.err.starts_with("sluice: error[E-HWL-120]: none.xml: cannot be opened")) << missing.err;
}

TEST(Topo, DrawsTheRanksThatAJobAsksFor) {
    const TemporaryFolder folder;
    const std::string job = (folder.path() / "job.toml").string();
    std::ofstream(job) << "app = \"echo\"\n[input]\npath = \"a.csv\"\n[model]\nrandom = 1\n[output]\npath = "
                          "\"b.csv\"\n[layout]\ngpus_per_node = 4\nranks_per_node = 2\ncpus_per_rank = 3\n";
    const std::vector<std::string> machine{"--json", "--xml", fixtures + "two_socket_four_gpu.xml", job};
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = machine;
        all.insert(all.end(), more.begin(), more.end());
        const ProcessResult result = topo(all);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return nlohmann::json::parse(result.out);
    };

    const auto two = with({});
    ASSERT_EQ(two.at("ranks").size(), 2U);
    EXPECT_EQ(two.at("ranks")[0].at("cpus"), "0-2") << "the first block of three CPUs";
    EXPECT_EQ(two.at("ranks")[0].at("devices").size(), 2U);

    EXPECT_EQ(with({"--set", "layout.ranks_per_node=per-gpu", "--set", "layout.cpus_per_rank=2"}).at("ranks").size(),
              4U);
    EXPECT_EQ(with({"--ranks-per-node", "1"}).at("ranks").size(), 1U) << "the option wins";
    EXPECT_EQ(with({"--ranks-per-node", "1025"}).at("ranks").size(), 1025U) << "as many as the key takes";
    const auto host = with({"--set", "run.device=host", "--set", "run.devices=2"});
    EXPECT_EQ(host.at("ranks")[1].at("devices").size(), 2U);
    EXPECT_EQ(host.at("ranks")[1].at("devices")[0].at("kind"), "host");

    const auto crowded = with({"--set", "layout.cpus_per_rank=5", "--set", "layout.gpus_per_node=8"});
    EXPECT_THAT(crowded.at("notes").dump(),
                HasSubstr("2 ranks with layout.cpus_per_rank = 5 need more than the 8 CPUs"));
    EXPECT_THAT(crowded.at("notes").dump(), HasSubstr("layout.gpus_per_node = 8, but 4 GPUs visible"));
    EXPECT_EQ(topo({"none.toml"}).exit_code, 66);
}

TEST(Topo, SaysThatARunWouldMissItsGpus) {
    const TemporaryFolder folder;
    const std::string job = (folder.path() / "job.toml").string();
    std::ofstream(job) << "app = \"echo\"\n[input]\npath = \"a.csv\"\n[model]\nrandom = 1\n[output]\npath = "
                          "\"b.csv\"\n[run]\ndevice = \"cuda\"\n";

    const ProcessResult result = topo({job}, {"CUDA_VISIBLE_DEVICES="});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("note: run.device = \"cuda\": a run of this program ends with an error here: "));
    EXPECT_THAT(topo({job, "--set", "run.device=host"}).out, Not(HasSubstr("run.device")));
}

TEST(Topo, OfOneOfSeveralTasksSaysSo) {
    const ProcessResult result = topo({}, {"SLURM_JOB_ID=7", "SLURM_STEP_NUM_TASKS=3", "SLURM_PROCID=1"});

    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("note: this is the drawing of one of 3 tasks, for a run on its own: `" +
                                      program_name_of_runs() + " doctor`, started as the run, looks at all ranks"));
    EXPECT_THAT(topo({"--xml", fixtures + "laptop.xml"}, {"SLURM_STEP_NUM_TASKS=3"}).out, Not(HasSubstr("tasks")));
}

TEST(Topo, RefusesOptionsThatItDoesNotKnow) {
    const std::vector<std::vector<std::string>> rows{
        {"--ranks-per-node", "0"},
        {"--ranks-per-node", "-1"},
        {"--ranks-per-node", "4097"},
        {"--ranks-per-node", "4x"},
        {"--ranks-per-node", ""},
        {"--ranks-per-node"},
        {"--xml"},
        {"--jsn"},
        {"job.toml", "node.xml"},
        {"--ranks-per-node=1", "--ranks-per-node=2"},
        {"--ranks-per-node", "99999999999999999999"},
    };
    for (const std::vector<std::string>& row : rows) {
        const ProcessResult result = topo(row);

        EXPECT_EQ(result.exit_code, 64) << row.front();
        EXPECT_TRUE(result.err.starts_with("sluice: error[E-USE-098]: " + program_name_of_runs() + " topo: "))
            << result.err;
        EXPECT_EQ(result.out, "");
    }
}

}  // namespace
}  // namespace sluice::test
