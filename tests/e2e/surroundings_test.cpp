// What makes a run slow from outside of the program, and what its report makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/e2e/planted_pause.hpp"
#include "tests/support/files.hpp"
#include "tests/support/process.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Chunks of one item each, which needs a core for 5 ms.
JobFolder spinning_job(std::size_t items) {
    return JobFolder(std::vector<std::string>(items, "spin"));
}

/// Of the run that `words` and then sluice start.
json report_of(const JobFolder& job, std::vector<std::string> words,
               const std::vector<std::string>& settings = {"pipeline.chunk_items=1"}) {
    std::vector<std::string> arguments{"run", "job.toml", "--no-progress"};
    const std::vector<std::string> set_words = set(settings);
    arguments.insert(arguments.end(), set_words.begin(), set_words.end());
    const std::vector<std::string> run = launch_words(0, arguments, SLUICE_ECHO_PROGRAM);
    words.insert(words.end(), run.begin(), run.end());
    const ProcessResult done = Process(words, {.folder = job.path()}).wait();
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::parse(contents(job.path() / "labels.csv.report.json"));
}

void expect_no_advice_for_more_devices(const json& verdict) {
    for (const json& what_if : verdict.at("what_if")) {
        EXPECT_THAT(what_if.at("change").get<std::string>(), Not(HasSubstr("devices")));
    }
    EXPECT_THAT(verdict.at("notes").dump(), Not(HasSubstr("more nodes or cores help")));
}

/// This thread, what it starts and threads that work all the time on one CPU.
class CrowdedCpu {
public:
    CrowdedCpu() {
        EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
        int cpu = 0;
        while (!CPU_ISSET(cpu, &before_)) {
            ++cpu;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        for (std::thread& hog : hogs_) {
            hog = std::thread([this] {
                while (!over_) {
                }
            });
        }
    }
    ~CrowdedCpu() {
        over_ = true;
        for (std::thread& hog : hogs_) {
            hog.join();
        }
        EXPECT_EQ(::sched_setaffinity(0, sizeof before_, &before_), 0);
    }
    CrowdedCpu(const CrowdedCpu&) = delete;
    CrowdedCpu& operator=(const CrowdedCpu&) = delete;

private:
    cpu_set_t before_{};
    std::atomic<bool> over_{false};
    std::array<std::thread, 3> hogs_;
};

TEST(Surroundings, OthersOnTheSameCoresAreContention) {
    const JobFolder job = spinning_job(40);
    json report;
    {
        const CrowdedCpu crowded;
        report = report_of(job, {});
    }

    const json& verdict = report.at("verdict");
    std::vector<std::string> contended;
    for (const json& contention : verdict.at("contention")) {
        contended.push_back(contention.at("stage"));
    }
    if (report.at("ranks").at(0).at("instances").at(0).at("run_delay").is_null()) {
        GTEST_SKIP() << "this kernel does not count how long threads wait for a CPU";
    }
    EXPECT_THAT(contended, Contains("compute")) << report.dump(2);
    expect_no_advice_for_more_devices(verdict);
}

/// A cgroup with a quota of 1 of 20 ms of one CPU, where the machine lets us make one: so little that it is used up
/// even where other work leaves a process a small share of its CPU.
class QuotaGroup {
public:
    QuotaGroup() {
        for (const std::string parent : {"/sys/fs/cgroup/cpu/", "/sys/fs/cgroup/"}) {
            const std::filesystem::path folder = parent + "sluice_test_" + std::to_string(::getpid());
            std::error_code refused;
            if (!std::filesystem::create_directory(folder, refused)) {
                continue;
            }
            if (write(folder / "cpu.cfs_period_us", "20000") ? write(folder / "cpu.cfs_quota_us", "1000")
                                                             : write(folder / "cpu.max", "1000 20000")) {
                folder_ = folder;
                return;
            }
            std::filesystem::remove(folder, refused);
        }
    }
    ~QuotaGroup() {
        if (folder_) {
            EXPECT_EQ(::rmdir(folder_->c_str()), 0);
        }
    }
    QuotaGroup(const QuotaGroup&) = delete;
    QuotaGroup& operator=(const QuotaGroup&) = delete;

    [[nodiscard]] const std::optional<std::filesystem::path>& folder() const { return folder_; }

private:
    static bool write(const std::filesystem::path& file, const char* text) {
        return std::filesystem::exists(file) && (std::ofstream(file) << text).flush().good();
    }

    std::optional<std::filesystem::path> folder_;
};

TEST(Surroundings, AQuotaThatIsUsedUpIsNamed) {
    const QuotaGroup group;
    if (!group.folder()) {
        GTEST_SKIP() << "no CPU cgroup can be made here";
    }
    const JobFolder job = spinning_job(20);

    const json report = report_of(
        job, {"/bin/sh", "-c", "echo $$ > '" + (*group.folder() / "cgroup.procs").string() + "' && exec \"$@\"", "sh"});

    const json& quota = report.at("ranks").at(0).at("facts").at("cpu_quota");
    ASSERT_FALSE(quota.is_null());
    EXPECT_GT(quota.at("throttled"), 0);
    EXPECT_LE(quota.at("throttled_periods"), quota.at("periods"));
    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("throttled").at("rank"), 0) << report.dump(2);
    EXPECT_THAT(verdict.at("notes").dump(), HasSubstr("a larger quota helps"));
    expect_no_advice_for_more_devices(verdict);
}

TEST(Surroundings, ASlowDiskIsTheReadersWork) {
    constexpr std::size_t item_bytes = 144;  // sizeof(Item) of tests/e2e/echo_app.cpp
    constexpr std::size_t chunk_items = 512;
    constexpr double seconds_per_mib = 0.15;
    const JobFolder job(1);
    write_file(job.path() / "items.u8", std::string(32'768 * item_bytes, '\0'));  // which need no index

    const json report = report_of(
        job, {"/usr/bin/env", "LD_PRELOAD=" SLUICE_SLOW_READS, "SLUICE_SLOW_FILE=/items.u8", "SLUICE_SLOW_MIB=150"},
        {"input.path=items.u8", "pipeline.chunk_items=512"});

    const json& verdict = report.at("verdict");
    EXPECT_EQ(verdict.at("least"), "read") << verdict.dump(2);
    if (ran_at_once(seconds_per_mib * chunk_items * item_bytes / (1 << 20), chunk_items,
                    verdict.at("capacity").at("read").get<double>())) {
        EXPECT_EQ(verdict.at("bound"), "stage") << verdict.dump(2);
    }
}

}  // namespace
}  // namespace sluice::test
