#include "core/sync/turn.hpp"

#include <cerrno>
#include <ctime>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace sluice {

Turn::Turn() {
    constexpr int between_processes = 1;
    expects(::sem_init(&given_, between_processes, 0) == 0, "sem_init");
}

void Turn::give() noexcept {
    ::sem_post(&given_);
}

void Turn::wait(const std::stop_token& stop, std::chrono::nanoseconds at_most) noexcept {
    const std::stop_callback stopped(stop, [this] { give(); });
    const std::chrono::nanoseconds end = (Clock::now() + at_most).time_since_epoch();  // of CLOCK_MONOTONIC
    const auto seconds = std::chrono::floor<std::chrono::seconds>(end);
    const std::timespec until{.tv_sec = seconds.count(), .tv_nsec = (end - seconds).count()};
    while (::sem_clockwait(&given_, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
    }
}

}  // namespace sluice
