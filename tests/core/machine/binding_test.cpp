#include "core/machine/binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace sluice {
namespace {

using testing::HasSubstr;

/// An operating system that does what it is told, or only says so.
class FakeAffinity final : public Affinity {
public:
    explicit FakeAffinity(CpuSet now) : now_(std::move(now)) {}

    [[nodiscard]] std::string set(const CpuSet& cpus) override {
        now_ = obeys ? cpus & most : now_;
        return refusal;
    }
    [[nodiscard]] CpuSet get() const override { return now_; }

    bool obeys = true;
    CpuSet most = CpuSet::range(0, 63);
    std::string refusal;

private:
    CpuSet now_;
};

struct FakeMachine {
    FakeMachine() {
        auto owned = std::make_unique<FakeAffinity>(CpuSet::range(0, 7));
        affinity = owned.get();
        machine.topology = flat_topology(CpuSet::range(0, 7));
        machine.affinity = std::move(owned);
    }

    Machine machine;
    FakeAffinity* affinity;
};

TEST(Binding, FindsNothingWhenTheThreadIsWhereItWasPut) {
    FakeMachine fake;

    EXPECT_EQ(bind(fake.machine, CpuSet::range(2, 3)), std::nullopt);
    EXPECT_EQ(fake.affinity->get(), CpuSet::range(2, 3));
}

TEST(Binding, ReportsACallThatSucceedsAndDoesNothing) {
    FakeMachine fake;
    fake.affinity->obeys = false;

    const std::optional<ErrorText> finding = bind(fake.machine, CpuSet::range(2, 3));

    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->id, "W-HWL-077");
    EXPECT_EQ(finding->what, "a thread was bound to CPUs 2-3, but runs on CPUs 0-7");
}

TEST(Binding, ReportsARefusal) {
    FakeMachine fake;
    fake.affinity->refusal = "Operation not permitted";

    const std::optional<ErrorText> finding = bind(fake.machine, CpuSet::range(2, 3));

    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->what, "a thread cannot be bound to CPUs 2-3: Operation not permitted");
    EXPECT_TRUE(render(*finding).starts_with("sluice: warning[W-HWL-077]: a thread cannot"));
}

TEST(Binding, ReportsAMachineThatHwlocDoesNotKnow) {
    Machine machine{.topology = flat_topology(CpuSet::range(0, 1))};
    machine.topology.why_unbindable = "hwloc is told to describe another machine";

    const std::optional<ErrorText> finding = bind(machine, CpuSet::range(0, 0));

    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->id, "W-HWL-077");
    EXPECT_THAT(finding->what, HasSubstr(machine.topology.why_unbindable));
}

TEST(Binding, LeavesTheLaunchersMaskForWhatTheKernelGives) {
    FakeMachine fake;
    fake.machine.topology.mask = CpuSet::range(2, 3);
    fake.affinity->most = CpuSet::range(0, 5);  // a cgroup that hwloc does not see

    EXPECT_EQ(leave_mask(fake.machine), std::nullopt);

    EXPECT_EQ(fake.machine.topology.mask, CpuSet::range(0, 5));
    EXPECT_EQ(fake.machine.topology.allowed, CpuSet::range(0, 5));
}

TEST(Binding, KeepsTheLaunchersMaskWhenTheKernelRefuses) {
    FakeMachine fake;
    fake.machine.topology.mask = CpuSet::range(2, 3);
    fake.affinity->refusal = "Operation not permitted";

    const std::optional<ErrorText> finding = leave_mask(fake.machine);

    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->id, "W-HWL-077");
    EXPECT_EQ(fake.machine.topology.mask, CpuSet::range(2, 3));
}

TEST(Binding, LastsAsLongAsTheObjectLives) {
    FakeMachine fake;
    {
        const BoundWhile bound(fake.machine, CpuSet::range(1, 1));
        EXPECT_EQ(bound.finding(), std::nullopt);
        EXPECT_EQ(fake.affinity->get(), CpuSet::range(1, 1));
    }
    EXPECT_EQ(fake.affinity->get(), CpuSet::range(0, 7));
}

/// Where the kernel says that the calling thread may run, without hwloc.
CpuSet kernels_word() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    CpuSet cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.add(cpu);
        }
    }
    return cpus;
}

TEST(Binding, StartsFromTheMaskOfItsOwnThread) {
    const CpuSet before = kernels_word();
    const std::uint32_t first = before.cpus().front();
    CpuSet seen;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        seen = read_machine(TopologyDetail::cpus).topology.mask;
    }).join();

    EXPECT_EQ(seen, CpuSet::range(first, first)) << "other threads of the process may run on " << before.text();
}

TEST(Binding, HoldsForThisMachinesThreadsAndThoseThatTheyStart) {
    Machine machine = read_machine(TopologyDetail::cpus);
    if (machine.affinity == nullptr) {
        GTEST_SKIP() << machine.topology.why_unbindable;
    }
    const CpuSet before = kernels_word();
    for (const std::uint32_t cpu : machine.topology.mask.cpus()) {
        const CpuSet one = CpuSet::range(cpu, cpu);
        const BoundWhile bound(machine, one);

        EXPECT_EQ(bound.finding(), std::nullopt);
        EXPECT_EQ(kernels_word(), one);
        CpuSet of_child;
        std::thread([&] { of_child = kernels_word(); }).join();
        EXPECT_EQ(of_child, one);
    }
    EXPECT_EQ(kernels_word(), before);
}

}  // namespace
}  // namespace sluice
