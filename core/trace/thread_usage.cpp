#include "core/trace/thread_usage.hpp"

#include <sys/resource.h>

#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

std::chrono::nanoseconds duration_of(const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ThreadUsage usage_of_this_thread(std::string name, Instant begin) {
    rusage usage = {};
    expects(::getrusage(RUSAGE_THREAD, &usage) == 0, "a thread knows what it has used");
    return {.name = std::move(name),
            .wall = Clock::now() - begin,
            .cpu = duration_of(usage.ru_utime) + duration_of(usage.ru_stime),
            .waits = static_cast<std::uint64_t>(usage.ru_nvcsw),
            .preemptions = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

}  // namespace sluice
