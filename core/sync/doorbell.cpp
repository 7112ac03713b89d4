#include "core/sync/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace sluice {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void Doorbell::wait(std::uint32_t seen) noexcept {
    sleep(seen, nullptr);
}

void Doorbell::wait_for(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
    constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
    const std::timespec limit{.tv_sec = at_most.count() / nanoseconds_per_second,
                              .tv_nsec = at_most.count() % nanoseconds_per_second};
    sleep(seen, &limit);
}

void Doorbell::sleep(std::uint32_t seen, const std::timespec* at_most) noexcept {
    const std::uint32_t flagged = seen | asleep;
    std::uint32_t found = seen;
    if (word_.compare_exchange_strong(found, flagged, std::memory_order_seq_cst) || found == flagged) {
        syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, flagged, at_most, nullptr, 0);
    }
}

void Doorbell::wake() noexcept {
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sluice
