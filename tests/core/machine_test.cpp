#include "core/machine.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

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

std::vector<std::uint32_t> shares(const std::vector<UsableCpus>& ranks) {
    std::vector<std::uint32_t> devices;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        devices.push_back(host_devices_of(ranks, i));
    }
    return devices;
}

using Shares = std::vector<std::uint32_t>;

TEST(HostDevices, AreOneACoreForASingleRank) {
    EXPECT_EQ(shares({{"0-7", 8}}), Shares{8});
}

TEST(HostDevices, AreEachRanksOwnCoresWhenMasksAreApart) {
    EXPECT_EQ(shares({{"0-3", 4}, {"4-5", 2}}), (Shares{4, 2}));
}

TEST(HostDevices, AreSharedEvenlyWhenMasksOverlap) {
    EXPECT_EQ(shares({{"0-7", 8}, {"0-7", 8}}), (Shares{4, 4}));
}

TEST(HostDevices, GiveTheRemainderToTheFirstRanks) {
    EXPECT_EQ(shares({{"0-10", 11}, {"0-10", 11}, {"0-10", 11}, {"0-10", 11}}), (Shares{3, 3, 3, 2}));
}

TEST(HostDevices, AreOneEachWhenRanksOutnumberCores) {
    EXPECT_EQ(shares({{"0-1", 2}, {"0-1", 2}, {"0-1", 2}, {"0-1", 2}}), (Shares{1, 1, 1, 1}));
}

TEST(HostDevices, FollowTheQuotaRatherThanTheMask) {
    EXPECT_EQ(shares({{"0-63", 4}, {"0-63", 4}}), (Shares{2, 2}));
}

TEST(HostDevices, RefuseAMaskThatIsNone) {
    EXPECT_THROW(static_cast<void>(host_devices_of(std::vector<UsableCpus>{{"x", 1}}, 0)), ContractViolation);
}

TEST(Machine, HasAtLeastOneUsableCoreAndAName) {
    const UsableCpus cpus = read_usable_cpus();

    EXPECT_GE(cpus.cores, 1U);
    EXPECT_FALSE(cpus.mask.empty());
    EXPECT_FALSE(host_name().empty());
}

}  // namespace
}  // namespace sluice
