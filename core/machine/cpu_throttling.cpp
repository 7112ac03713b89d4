#include "core/machine/cpu_throttling.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace sluice {
namespace {

std::optional<CpuThrottling> read_stat(const std::filesystem::path& path) {
    std::ifstream file(path);
    return throttling_in(std::string{std::istreambuf_iterator<char>(file), {}});
}

}  // namespace

std::optional<CpuThrottling> throttling_in(std::string_view cpu_stat) {
    std::istringstream lines{std::string(cpu_stat)};
    CpuThrottling found;
    bool has_periods = false;
    bool has_time = false;
    std::string key;
    std::int64_t value = 0;
    while (lines >> key >> value) {
        if (key == "nr_periods") {
            found.periods = static_cast<std::uint64_t>(value);
            has_periods = true;
        } else if (key == "nr_throttled") {
            found.throttled = static_cast<std::uint64_t>(value);
        } else if (key == "throttled_usec") {  // version 2
            found.time = std::chrono::microseconds(value);
            has_time = true;
        } else if (key == "throttled_time") {  // version 1
            found.time = std::chrono::nanoseconds(value);
            has_time = true;
        }
    }
    return has_periods && has_time ? std::optional(found) : std::nullopt;
}

ThrottleMeter::ThrottleMeter(const std::vector<std::filesystem::path>& folders) {
    for (const std::filesystem::path& folder : folders) {
        const std::filesystem::path file = folder / "cpu.stat";
        if (const auto begin = read_stat(file)) {
            groups_.push_back({file, *begin});
        }
    }
}

std::optional<CpuThrottling> ThrottleMeter::read() const {
    std::optional<CpuThrottling> most;
    for (const Group& group : groups_) {
        const auto now = read_stat(group.file);
        if (!now || now->periods <= group.begin.periods) {
            continue;
        }
        const CpuThrottling taken{.periods = now->periods - group.begin.periods,
                                  .throttled = now->throttled - group.begin.throttled,
                                  .time = now->time - group.begin.time};
        if (!most || taken.time > most->time) {
            most = taken;
        }
    }
    return most;
}

}  // namespace sluice
