// A link that is slow outside of the program: a token bucket on a loopback interface of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr double bytes_per_second = 1e6;

/// `words` in a network namespace whose loopback interface is that slow.
std::vector<std::string> slowed(const std::vector<std::string>& words) {
    std::vector<std::string> all{
        "/usr/bin/env",
        "unshare",
        "-rn",
        "/bin/sh",
        "-c",
        "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate 8mbit burst 8kb latency 400ms && exec \"$@\"",
        "sh"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

TEST(SlowLinkOfRanks, IsWhatBinds) {
    constexpr std::size_t items = 83'000;
    constexpr std::size_t item_bytes = 144;  // sizeof(Item) of tests/e2e/echo_app.cpp
    const JobFolder job(1);
    if (Process(slowed({"true"}), {.folder = job.path()}).wait().exit_code != 0) {
        GTEST_SKIP() << "no network namespace with a token bucket (sch_tbf) can be made here";
    }
    write_file(job.path() / "items.u8", std::string(items * item_bytes, '\0'));
    std::vector<std::string> arguments{"run", "job.toml", "--no-progress"};
    for (const std::string& word : set({"input.path=items.u8", "pipeline.chunk_items=512",
                                        "pipeline.distribution=static", "pipeline.scatter=messages"})) {
        arguments.push_back(word);
    }
    std::vector<std::string> words = launch_words(2, arguments, SLUICE_ECHO_PROGRAM);
    words.insert(words.begin() + 1, {"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"});

    const ProcessResult done = Process(slowed(words), {.folder = job.path()}).wait();

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json report = json::parse(contents(job.path() / "labels.csv.report.json"));
    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("binding"), "scatter") << verdict.dump(2);
    EXPECT_EQ(verdict.at("bound"), "stage") << verdict.dump(2);
    const json& link = report.at("links").at(0);
    EXPECT_EQ(link.at("bytes_to"), item_bytes * (items / 1024 * 512));
    EXPECT_LE(link.at("rate_to").get<double>(), 1.1 * bytes_per_second) << "what the system still holds is not sent";
    EXPECT_LE(link.at("peak").get<double>(), 1.2 * bytes_per_second) << "less where the machine is busy";
}

}  // namespace
}  // namespace sluice::test
