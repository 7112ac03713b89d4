#include "core/machine/cpu_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "core/error.hpp"

namespace sluice {
namespace {

TEST(CpuSet, ReadsAndWritesTheKernelsListForm) {
    for (const char* text : {"", "0", "0-3", "0-3,8", "5,7,9-11", "63-64", "65535"}) {
        const std::optional<CpuSet> set = CpuSet::parse(text);

        ASSERT_TRUE(set) << text;
        EXPECT_EQ(set->text(), text);
    }
    EXPECT_EQ(CpuSet::parse("3,1,2,2-2")->text(), "1-3");
}

TEST(CpuSet, RefusesWhatIsNoList) {
    for (const char* text : {"x", "-", "1-", "-1", "3-1", "1,", ",1", "1,,2", "1 2", "1-2-3", "65536", "0-65536", "+1",
                             "99999999999999999999"}) {
        EXPECT_FALSE(CpuSet::parse(text)) << text;
    }
}

TEST(CpuSet, RefusesACpuBeyondItsLimit) {
    CpuSet set;

    EXPECT_THROW(set.add(CpuSet::limit), ContractViolation);
    EXPECT_TRUE(set.empty());
}

std::set<std::uint32_t> members(const CpuSet& set) {
    const std::vector<std::uint32_t> cpus = set.cpus();
    return {cpus.begin(), cpus.end()};
}

TEST(CpuSet, DoesAsStdSetDoes) {
    const auto seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    for (int round = 0; round < 200; ++round) {
        CpuSet a;
        CpuSet b;
        std::set<std::uint32_t> in_a;
        std::set<std::uint32_t> in_b;
        for (std::uint32_t i = below(40); i > 0; --i) {
            const std::uint32_t cpu = below(200);
            a.add(cpu);
            in_a.insert(cpu);
        }
        for (std::uint32_t i = below(40); i > 0; --i) {
            const std::uint32_t cpu = below(70);
            b.add(cpu);
            in_b.insert(cpu);
        }
        std::set<std::uint32_t> both;
        std::set<std::uint32_t> either = in_a;
        std::set<std::uint32_t> rest;
        either.insert(in_b.begin(), in_b.end());
        for (const std::uint32_t cpu : in_a) {
            (in_b.count(cpu) != 0 ? both : rest).insert(cpu);
        }

        EXPECT_EQ(members(a), in_a);
        EXPECT_EQ(members(a & b), both);
        EXPECT_EQ(members(a | b), either);
        EXPECT_EQ(members(a - b), rest);
        EXPECT_EQ(a.meets(b), !both.empty());
        EXPECT_EQ(a.contains(b), both == in_b);
        EXPECT_EQ(a.size(), in_a.size());
        EXPECT_EQ(a == b, in_a == in_b);
        EXPECT_EQ((a - b) | (a & b), a) << "equal sets are equal however they came to be";
    }
}

}  // namespace
}  // namespace sluice
