#include "core/trace/thread_usage.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

std::chrono::nanoseconds duration_of(const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

void name_this_thread(std::string name) noexcept {
    constexpr std::size_t most = 15;
    name.resize(std::min(name.size(), most));
    ::pthread_setname_np(::pthread_self(), name.c_str());
}

ThreadUsage usage_of_this_thread(std::string name, Instant begin) {
    rusage usage = {};
    expects(::getrusage(RUSAGE_THREAD, &usage) == 0, "a thread knows what it has used");
    return {.name = std::move(name),
            .wall = Clock::now() - begin,
            .cpu = duration_of(usage.ru_utime) + duration_of(usage.ru_stime),
            .waits = static_cast<std::uint64_t>(usage.ru_nvcsw),
            .preemptions = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

std::optional<std::chrono::nanoseconds> read_run_delay(pid_t thread) {
    std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", thread));
    std::uint64_t on_cpu = 0;
    std::int64_t delayed = 0;
    if (!(file >> on_cpu >> delayed) || on_cpu == 0) {  // without the kernel's counting all are 0
        return std::nullopt;
    }
    return std::chrono::nanoseconds(delayed);
}

std::optional<std::chrono::nanoseconds> read_run_delay() {
    return read_run_delay(::gettid());
}

}  // namespace sluice
