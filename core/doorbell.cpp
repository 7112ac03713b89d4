#include "core/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace sluice {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, const std::timespec* at_most) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, at_most, nullptr, 0);
}

}  // namespace

void Doorbell::wait(std::uint32_t seen) noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    futex_wait(rings_, seen, nullptr);
}

void Doorbell::wait_for(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
    constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;
    const std::timespec limit{.tv_sec = at_most.count() / nanoseconds_a_second,
                              .tv_nsec = at_most.count() % nanoseconds_a_second};
    asleep_.store(true, std::memory_order_seq_cst);
    futex_wait(rings_, seen, &limit);
}

void Doorbell::wake() noexcept {
    syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sluice
