#include "core/machine/cgroup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::IsSupersetOf;
using testing::SizeIs;
using Folders = std::vector<std::filesystem::path>;

struct Quota {
    const char* text;
    std::uint32_t cpus;
};

class CpuQuota : public testing::TestWithParam<Quota> {};

TEST_P(CpuQuota, IsWorthWholeCpusRoundedUp) {
    EXPECT_EQ(cpus_of_quota(GetParam().text), GetParam().cpus) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Texts, CpuQuota,
                         testing::Values(Quota{"200000 100000", 2}, Quota{"150000 100000", 2}, Quota{"1 100000", 1},
                                         Quota{"100000 100000", 1}, Quota{"100001 100000", 2},
                                         Quota{"6400000 100000", 64}, Quota{"max 100000", 0}, Quota{"-1 100000", 0},
                                         Quota{"", 0}, Quota{" ", 0}, Quota{"200000", 0}, Quota{"200000 0", 0},
                                         Quota{"0 100000", 0}, Quota{"200000 x", 0},
                                         Quota{"9223372036854775807 1", 1U << 20U},
                                         Quota{"9223372036854775807 9223372036854775807", 1},
                                         Quota{"99999999999999999999 100000", 0}));

TEST(Cgroup, NamesEveryGroupAroundTheProcessOfVersion2) {
    EXPECT_THAT(cgroup_folders("0::/slurm/job_7/step_0\n", "memory"),
                IsSupersetOf(Folders{"/sys/fs/cgroup/slurm/job_7/step_0", "/sys/fs/cgroup/slurm/job_7",
                                     "/sys/fs/cgroup/slurm", "/sys/fs/cgroup"}));
}

TEST(Cgroup, NamesTheGroupsOfTheControllerOfVersion1AndOfNoOther) {
    const Folders folders = cgroup_folders("4:cpu,cpuacct:/a/b\n3:memory:/c\n2:cpuset:/d", "cpu");

    EXPECT_THAT(folders, SizeIs(4));
    EXPECT_THAT(folders, IsSupersetOf(Folders{"/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu"}));
}

TEST(Cgroup, NamesTheRootsWhateverTheMembershipSays) {
    for (const char* const membership : {"", "0::/", "\n\n", "::", "x", "0::", "0::///", "5:name=systemd:/a"}) {
        EXPECT_EQ(cgroup_folders(membership, "cpu"), (Folders{"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"})) << membership;
    }
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

TEST(SmallestQuota, IsThatOfAllGroupsAndNamesItsGroup) {
    const TemporaryFolder folder;
    write_file(folder.path() / "cpu.max", "max 100000\n");
    write_file(folder.path() / "job" / "cpu.max", "300000 100000\n");
    write_file(folder.path() / "job" / "step" / "cpu.max", "400000 100000\n");
    write_file(folder.path() / "old" / "cpu.cfs_quota_us", "200000\n");
    write_file(folder.path() / "old" / "cpu.cfs_period_us", "100000\n");

    const auto least = smallest_quota({folder.path() / "job" / "step", folder.path() / "job", folder.path()});
    EXPECT_EQ(least.cpus, 3U);
    EXPECT_EQ(least.group, smallest_quota({folder.path() / "job"}).group);
    EXPECT_NE(least.group, smallest_quota({folder.path() / "job" / "step"}).group);
    EXPECT_EQ(smallest_quota({folder.path() / "old"}).cpus, 2U);

    write_file(folder.path() / "job" / "step" / "cpu.max", "300000 100000\n");
    EXPECT_EQ(smallest_quota({folder.path() / "job" / "step", folder.path() / "job", folder.path()}).group, least.group)
        << "all steps share the outermost";
    EXPECT_EQ(smallest_quota({folder.path(), folder.path() / "none"}).cpus, 0U);
}

TEST(MemoryLimit, IsWhatTheCgroupSays) {
    EXPECT_EQ(memory_of_cgroup("4294967296"), 4'294'967'296U);
    EXPECT_EQ(memory_of_cgroup("0"), 0U);
    for (const char* const none : {"max", "", "-1", "99999999999999999999999"}) {
        EXPECT_EQ(memory_of_cgroup(none), no_memory_limit) << none;
    }
}

TEST(MemoryLimit, IsWhatTheNodeHasToGive) {
    EXPECT_EQ(memory_of_meminfo("MemTotal:  8 kB\nMemFree:  1 kB\nMemAvailable:      3 kB\nBuffers: 1 kB\n"), 3072U);
    for (const char* const none :
         {"", "MemTotal: 8 kB\n", "MemAvailable:", "MemAvailable: x", "MemAvailable: 18446744073709551615 kB"}) {
        EXPECT_EQ(memory_of_meminfo(none), no_memory_limit) << none;
    }
}

TEST(MemoryLimit, IsTheSmallestOfAllGroups) {
    const TemporaryFolder folder;
    write_file(folder.path() / "memory.max", "max\n");
    write_file(folder.path() / "job" / "memory.max", "3000\n");
    write_file(folder.path() / "job" / "step" / "memory.max", "4000\n");
    write_file(folder.path() / "old" / "memory.limit_in_bytes", "2000\n");
    const Folders version2{folder.path() / "job" / "step", folder.path() / "job", folder.path()};

    EXPECT_EQ(least_memory_left(version2), 3000U);
    EXPECT_EQ(least_memory_left({folder.path() / "old"}), 2000U);
    EXPECT_EQ(least_memory_left({folder.path(), folder.path() / "none"}), no_memory_limit);
}

TEST(MemoryLimit, IsLessenedByWhatIsInUseAndCannotBeReclaimed) {
    EXPECT_EQ(memory_left(1000, 0, 0), 1000U);
    EXPECT_EQ(memory_left(1000, 700, 0), 300U);
    EXPECT_EQ(memory_left(1000, 700, 200), 500U);
    EXPECT_EQ(memory_left(1000, 700, 800), 1000U) << "read a moment later than the usage";
    EXPECT_EQ(memory_left(1000, 1500, 100), 0U);
    EXPECT_EQ(memory_left(no_memory_limit, 700, 0), no_memory_limit);
}

TEST(MemoryLimit, TakesCachedFilesForReclaimableInBothVersions) {
    EXPECT_EQ(reclaimable_in("anon 50\nfile 99\nshmem 7\ninactive_anon 40\ninactive_file 30\nactive_file 5\n"), 35U);
    EXPECT_EQ(reclaimable_in("cache 9\ninactive_file 1\nactive_file 2\ntotal_cache 90\ntotal_inactive_file 10\n"
                             "total_active_file 20\n"),
              30U)
        << "the children's, too, as in the usage";
    for (const char* const none : {"", "anon 5\n", "inactive_file\n", "inactive_file x\n"}) {
        EXPECT_EQ(reclaimable_in(none), 0U) << none;
    }
}

TEST(MemoryLimit, CountsWhatEachGroupHasLeft) {
    const TemporaryFolder folder;
    const auto step = folder.path() / "step";
    const auto old = folder.path() / "old";
    write_file(folder.path() / "memory.max", "9000\n");
    write_file(folder.path() / "memory.current", "8000\n");
    write_file(folder.path() / "memory.stat", "inactive_file 1500\nactive_file 500\n");
    write_file(step / "memory.max", "4000\n");
    write_file(step / "memory.current", "500\n");
    write_file(old / "memory.limit_in_bytes", "2000\n");
    write_file(old / "memory.usage_in_bytes", "1200\n");
    write_file(old / "memory.stat", "inactive_file 0\ntotal_inactive_file 100\n");

    EXPECT_EQ(least_memory_left({step}), 3500U);
    EXPECT_EQ(least_memory_left({step, folder.path()}), 3000U) << "other steps of the job have taken it";
    EXPECT_EQ(least_memory_left({old}), 900U);
}

TEST(MemoryLimit, IsKnownOfThisMachine) {
    EXPECT_GT(read_available_memory(), 1U << 20U);
    EXPECT_LT(read_available_memory(), no_memory_limit);
}

TEST(Weights, ThatFillMoreThanTheMemoryThereIsAreRefused) {
    constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;
    EXPECT_NO_THROW(check_weights_fit(2 * gibibyte, "model.random", 2 * gibibyte));
    EXPECT_NO_THROW(check_weights_fit(2 * gibibyte, "model.random", no_memory_limit));
    const Error error = test::error_of([&] { check_weights_fit(2 * gibibyte + 1, "model.random", gibibyte / 2); });

    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    EXPECT_EQ(error.text().id, "E-MEM-068");
    EXPECT_EQ(error.text().what, "the weights take 2.0 GiB, and this process may use 0.5 GiB");
}

void write_stat(const std::filesystem::path& folder, const std::string& text) {
    write_file(folder / "cpu.stat", text);
}

TEST(CpuThrottling, IsReadOfBothVersions) {
    const CpuThrottling taken{.periods = 40, .throttled = 9, .time = 1'500us};

    EXPECT_EQ(throttling_in("usage_usec 77\nuser_usec 70\nnr_periods 40\nnr_throttled 9\nthrottled_usec 1500\n"),
              taken);
    EXPECT_EQ(throttling_in("nr_periods 40\nnr_throttled 9\nthrottled_time 1500000\nnr_bursts 0\n"), taken);
    for (const char* const none :
         {"", "usage_usec 77\n", "nr_periods x\n", "nr_periods 4\n", "nr_throttled 1", "throttled_usec 1500\n"}) {
        EXPECT_EQ(throttling_in(none), std::nullopt) << none;
    }
}

TEST(ThrottleMeter, TellsWhatTheGroupTookSinceItsConstructionThatTookMost) {
    const TemporaryFolder folder;
    write_stat(folder.path() / "job", "nr_periods 10\nnr_throttled 5\nthrottled_usec 1000\n");
    write_stat(folder.path() / "job/step", "nr_periods 10\nnr_throttled 1\nthrottled_usec 100\n");
    const ThrottleMeter meter({folder.path() / "job/step", folder.path() / "job", folder.path() / "none"});

    EXPECT_EQ(meter.read(), std::nullopt) << "nothing ran yet";

    write_stat(folder.path() / "job", "nr_periods 30\nnr_throttled 20\nthrottled_usec 5000\n");
    write_stat(folder.path() / "job/step", "nr_periods 30\nnr_throttled 1\nthrottled_usec 100\n");
    EXPECT_EQ(meter.read(), (CpuThrottling{.periods = 20, .throttled = 15, .time = 4ms}));
}

TEST(ThrottleMeter, TellsNothingWithoutAQuota) {
    const TemporaryFolder folder;
    const ThrottleMeter meter({folder.path()});
    EXPECT_EQ(meter.read(), std::nullopt);

    write_stat(folder.path() / "job", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    EXPECT_EQ(ThrottleMeter({folder.path() / "job"}).read(), std::nullopt);
}

}  // namespace
}  // namespace sluice
