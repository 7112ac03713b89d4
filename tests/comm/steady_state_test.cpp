#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "tests/support/local_job.hpp"
#include "tests/support/marking_device.hpp"
#include "tests/support/thread_audit.hpp"

namespace sluice {
namespace {

using test::audited;
using test::become;
using test::FakeSource;
using test::LocalJob;
using test::MemoryWriter;
using test::ThreadRole;

constexpr std::uint32_t chunk_items = 7;
constexpr std::uint32_t chunks = 600;
constexpr std::uint32_t first_not_audited = 500;
constexpr std::uint32_t devices = 2;
constexpr std::uint32_t chunks_to_warm_up = 50;           // of each device
constexpr std::uint32_t window = chunks_to_warm_up + 14;  // so far may one device get ahead of the other
static_assert(first_not_audited + window < chunks, "no device is done before the audit is");

std::atomic<std::uint32_t> warm_devices{0};

/// On each device's compute stream. The devices wait for each other before the audit: however busy the machine is, none
/// starts while it is on.
void switch_audit(std::span<const std::byte> first_item) {
    thread_local std::uint32_t chunks_here = 0;
    if (++chunks_here == chunks_to_warm_up) {
        if (warm_devices.fetch_add(1) + 1 == devices) {
            test::start_audit();
            warm_devices.fetch_add(1);
            warm_devices.notify_all();
        }
        for (std::uint32_t seen = warm_devices.load(); seen <= devices; seen = warm_devices.load()) {
            warm_devices.wait(seen);
        }
    }
    if (test::index_in(first_item) == first_not_audited * chunk_items) {
        test::stop_audit();
    }
}

test::FakeDriverOptions audited_drivers() {
    return {.chunk_items = chunk_items,
            .on_chunk = &switch_audit,
            .on_thread = [] { become(ThreadRole::driver); },
            .make_device = [](std::uint32_t) -> std::unique_ptr<Device> {
                return std::make_unique<test::MarkingDevice>();
            }};
}

void expect_idle(ThreadRole role, const char* name) {
    EXPECT_EQ(audited(role).allocations, 0U) << name;
    EXPECT_EQ(audited(role).locks, 0U) << name;
}

class SteadyState : public testing::TestWithParam<Distribution> {};

TEST_P(SteadyState, NeitherAllocatesNorLocksOnDriverCommAndStreamThreads) {
    const FakeSource source(std::uint64_t{chunks} * chunk_items);
    MemoryWriter writer;
    const LocalJob job{.devices = devices, .window = window, .distribution = GetParam(), .driver = audited_drivers()};
    warm_devices = 0;

    become(ThreadRole::comm);
    run_locally(job, source, writer);
    become(ThreadRole::other);

    expect_idle(ThreadRole::driver, "drivers");
    expect_idle(ThreadRole::comm, "comm thread");
    expect_idle(ThreadRole::stream, "streams' workers");
    EXPECT_GT(warm_devices, devices) << "the audit was switched on";
    EXPECT_EQ(writer.results.size(), std::size_t{chunks} * chunk_items);
}

INSTANTIATE_TEST_SUITE_P(Distributions, SteadyState, testing::Values(Distribution::pull, Distribution::fixed));

/// What `act` costs on a thread of the role `comm` while the audit is on.
template <class Act>
test::AuditCounts cost_of(Act act) {
    test::start_audit();
    become(ThreadRole::comm);
    act();
    become(ThreadRole::other);
    test::stop_audit();
    return audited(ThreadRole::comm);
}

TEST(ThreadAudit, CountsEveryWayToAllocate) {
    void* volatile kept = nullptr;  // so that no allocation is optimised away

    EXPECT_EQ(cost_of([&] { kept = ::operator new(100); }).allocations, 1U);
    EXPECT_EQ(cost_of([&] { ::operator delete(kept); }).allocations, 1U);
    EXPECT_EQ(cost_of([&] { kept = std::malloc(100); }).allocations, 1U);
    EXPECT_EQ(cost_of([&] { kept = std::realloc(kept, 5000); }).allocations, 1U);
    EXPECT_EQ(cost_of([&] { std::free(kept); }).allocations, 1U);
    EXPECT_EQ(cost_of([&] { kept = std::calloc(10, 10); }).allocations, 1U);
    std::free(kept);
    EXPECT_EQ(cost_of([&] { kept = std::aligned_alloc(64, 128); }).allocations, 1U);
    std::free(kept);
}

TEST(ThreadAudit, CountsEveryWayToLock) {
    std::mutex mutex;
    std::shared_mutex shared;
    std::condition_variable condition;

    EXPECT_EQ(cost_of([&] { const std::lock_guard lock(mutex); }).locks, 1U);
    EXPECT_EQ(cost_of([&] { const std::shared_lock lock(shared); }).locks, 1U);
    EXPECT_EQ(cost_of([&] { const std::unique_lock lock(shared); }).locks, 1U);
    EXPECT_GE(cost_of([&] { condition.notify_all(); }).locks, 1U);
    EXPECT_GE(cost_of([&] {
                  std::unique_lock lock(mutex);
                  condition.wait_for(lock, std::chrono::nanoseconds(1));
              }).locks,
              2U);
}

TEST(ThreadAudit, CountsNothingForThreadsWithoutARoleAndNothingWhileItIsOff) {
    const auto others = cost_of([] { std::thread([] { std::free(std::malloc(100)); }).join(); });
    const auto mine = cost_of([] {
        test::stop_audit();
        std::free(std::malloc(100));
    });

    EXPECT_EQ(audited(ThreadRole::other).allocations, 0U);
    EXPECT_LT(others.allocations, 6U);  // what starting a thread costs here, not what it does
    EXPECT_EQ(mine.allocations, 0U);
}

}  // namespace
}  // namespace sluice
