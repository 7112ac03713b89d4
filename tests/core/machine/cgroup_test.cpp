#include "core/machine/cgroup.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice
