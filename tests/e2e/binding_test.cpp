#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t threads_of_a_run = 8;  // main, watcher, reader, writer, and four of one device

/// What the kernel says of a thread: the CPUs that it may use, as a list.
std::string allowed_cpus(const std::filesystem::path& task) {
    const std::string status = contents(task / "status");
    const std::string key = "Cpus_allowed_list:\t";
    const std::size_t at = status.find(key);
    return at == std::string::npos ? "" : status.substr(at + key.size(), status.find('\n', at) - at - key.size());
}

std::multiset<std::string> cpus_of_threads(pid_t pid) {
    std::multiset<std::string> cpus;
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const std::string& name : names_in(tasks)) {
        if (const std::string list = allowed_cpus(tasks / name); !list.empty()) {
            cpus.insert(list);
        }
    }
    return cpus;
}

/// Where `sluice topo` says that the drivers of a rank alone on this machine run.
std::set<std::string> expected_drivers() {
    const ProcessResult result =
        Process({"/usr/bin/env", "CUDA_VISIBLE_DEVICES=", SLUICE_PROGRAM, "topo", "--json", "--ranks-per-node", "1"},
                {.folder = "/"})
            .wait();
    std::set<std::string> drivers;
    const auto json = nlohmann::json::parse(result.out);
    for (const auto& device : json.at("ranks").at(0).at("devices")) {
        drivers.insert(device.at("driver"));
    }
    return drivers;
}

/// Beside those that every test passes.
std::vector<std::string> bound(const std::string& mode) {
    return set({"run.devices=\"auto\"", "layout.bind=" + mode});
}

TEST(Bind, PutsDriversWhereTopoShowsThem) {
    const JobFolder folder(held_texts(40, 0));  // ended by us
    const std::set<std::string> expected = expected_drivers();
    ASSERT_FALSE(expected.empty());

    const auto process = folder.start_alone(bound("gpu-local"));

    EXPECT_TRUE(eventually([&] {
        const std::multiset<std::string> now = cpus_of_threads(process->pid());
        return std::includes(now.begin(), now.end(), expected.begin(), expected.end());
    }));
}

TEST(Bind, LeavesTheLaunchersMaskAloneWhenToldSo) {
    const JobFolder folder(held_texts(40, 0));  // ended by us
    const std::string mine = allowed_cpus("/proc/self");

    const auto process = folder.start_alone(bound("inherit"));
    std::multiset<std::string> seen;
    EXPECT_TRUE(eventually([&] {
        seen = cpus_of_threads(process->pid());
        return seen.size() >= threads_of_a_run;
    }));

    EXPECT_EQ(seen.count(mine), seen.size());
}

/// hwloc would then tie threads by name only: its calls succeed and do nothing.
TEST(Bind, WarnsOnceWhenItCannotAndRunsAllTheSame) {
    const JobFolder folder(60);
    const std::string xml = std::string("HWLOC_XMLFILE=") + SLUICE_SOURCE_DIR + "/tests/fixtures/topology/laptop.xml";
    std::vector<std::string> words{"/usr/bin/env", xml, SLUICE_PROGRAM, "run", "job.toml"};
    for (const std::string& word : bound("gpu-local")) {
        words.push_back(word);
    }

    const ProcessResult result = Process(words, {.folder = folder.path()}).wait();

    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::size_t first =
        result.err.find("sluice: warning[W-HWL-077]: threads are not bound to their CPUs: hwloc was told");
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("W-HWL-077", first + 30), std::string::npos) << result.err;
    EXPECT_FALSE(contents(folder.path() / "labels.csv").empty());
}

TEST(Bind, ChangesNoByteOfTheOutput) {
    const JobFolder folder(60);
    const std::string expected = folder.output_of(0, bound("gpu-local"));

    EXPECT_EQ(folder.output_of(0, bound("inherit")), expected);
    EXPECT_EQ(folder.output_of(0, bound("none")), expected);
}

TEST(Bind, ChangesNoByteOfTheOutputOfRanks) {
    const JobFolder folder(60);
    const std::string expected = folder.output_of(0, bound("inherit"));

    for (const char* mode : {"gpu-local", "inherit", "none"}) {
        EXPECT_EQ(folder.output_of(4, bound(mode)), expected) << mode;
    }
}

}  // namespace
}  // namespace sluice::test
