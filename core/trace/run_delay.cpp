#include "core/trace/run_delay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace sluice {

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
