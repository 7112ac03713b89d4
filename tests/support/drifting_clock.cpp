#include "tests/support/drifting_clock.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace sluice {
namespace {

constexpr std::int64_t billion = 1'000'000'000;
constexpr std::int64_t million = 1'000'000;

std::atomic<std::int64_t> drift_begin{0};  // nanoseconds
std::atomic<std::int64_t> drift_ppm{0};

std::int64_t read_monotonic_clock() {
    timespec time = {};
    ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * billion + time.tv_nsec;
}

std::int64_t with_drift(std::int64_t steady) {
    const std::int64_t since = steady - drift_begin;
    return steady + since / million * drift_ppm + since % million * drift_ppm / million;
}

}  // namespace

void let_clock_drift(std::int64_t ppm) {
    drift_begin = read_monotonic_clock();
    drift_ppm = ppm;
}

Instant drifted(Instant steady) {
    return Instant(std::chrono::nanoseconds(with_drift(steady.time_since_epoch().count())));
}

Instant steady_now() {
    return Instant(std::chrono::nanoseconds(read_monotonic_clock()));
}

}  // namespace sluice

/// In place of the C library's: the standard library reads its clocks by it.
extern "C" int clock_gettime(clockid_t clock, timespec* to) noexcept {
    using namespace sluice;
    if (clock != CLOCK_MONOTONIC || drift_ppm == 0) {
        return static_cast<int>(::syscall(SYS_clock_gettime, clock, to));
    }
    const std::int64_t time = with_drift(read_monotonic_clock());
    *to = {.tv_sec = time / billion, .tv_nsec = time % billion};
    return 0;
}
