#include "core/machine/cgroup.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr std::string_view total_prefix = "total_";  // version 1: of a group and those below it

bool lists(std::string_view controllers, std::string_view controller) {
    while (!controllers.empty()) {
        if (take_until(controllers, ',') == controller) {
            return true;
        }
    }
    return false;
}

/// Of a cgroup's folder: containers see one group under different names.
std::uint64_t inode_of(const std::filesystem::path& folder) {
    struct stat status {};
    return ::stat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::uint64_t number_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? number : no_memory_limit;
}

}  // namespace

std::vector<std::filesystem::path> cgroup_folders(std::string_view membership, std::string_view controller) {
    const std::filesystem::path version2 = "/sys/fs/cgroup";
    const std::filesystem::path version1 = version2 / controller;
    std::vector<std::filesystem::path> folders{version2, version1};  // what a container sees as its own group
    while (!membership.empty()) {
        std::string_view line = take_until(membership, '\n');  // "0::/job/step", or "4:cpu,cpuacct:/job/step"
        const bool is_version2 = take_until(line, ':') == "0";
        const bool is_version1 = lists(take_until(line, ':'), controller);
        if (is_version1 || is_version2) {
            const std::filesystem::path& root = is_version1 ? version1 : version2;
            line.remove_prefix(std::min(line.find_first_not_of('/'), line.size()));
            for (auto path = std::filesystem::path(line); !path.empty(); path = path.parent_path()) {
                folders.push_back(root / path);
            }
        }
    }
    return folders;
}

std::vector<std::filesystem::path> own_cgroup_folders(std::string_view controller) {
    return cgroup_folders(contents_of("/proc/self/cgroup"), controller);
}

std::uint32_t cpus_of_quota(std::string_view text) {
    std::istringstream fields{std::string(text)};
    std::int64_t quota = 0;  // this and the next in microseconds
    std::int64_t period = 0;
    if (!(fields >> quota >> period) || quota <= 0 || period <= 0) {
        return 0;  // "max", -1 or no such file: no limit
    }
    return static_cast<std::uint32_t>(std::min<std::int64_t>((quota - 1) / period + 1, 1 << 20));
}

CpuQuota smallest_quota(const std::vector<std::filesystem::path>& folders) {
    CpuQuota least;
    for (const std::filesystem::path& folder : folders) {
        const std::string version1 =
            first_line(folder / "cpu.cfs_quota_us") + " " + first_line(folder / "cpu.cfs_period_us");
        for (const std::string& text : {first_line(folder / "cpu.max"), version1}) {
            const std::uint32_t cpus = cpus_of_quota(text);
            if (cpus != 0 && (least.cpus == 0 || cpus <= least.cpus)) {  // the outermost, which most share
                least = {.cpus = cpus, .group = inode_of(folder)};
            }
        }
    }
    return least;
}

CpuQuota read_cpu_quota() {
    return smallest_quota(own_cgroup_folders("cpu"));
}

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
        if (const auto begin = throttling_in(contents_of(file))) {
            groups_.push_back({file, *begin});
        }
    }
}

std::optional<CpuThrottling> ThrottleMeter::read() const {
    std::optional<CpuThrottling> most;
    for (const Group& group : groups_) {
        const auto now = throttling_in(contents_of(group.file));
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

std::uint64_t memory_of_cgroup(std::string_view text) {
    return number_in(text);
}

std::uint64_t reclaimable_in(std::string_view memory_stat) {
    std::uint64_t of_group = 0;
    std::uint64_t with_children = 0;  // version 1 has both; usage includes the children
    bool has_total = false;
    while (!memory_stat.empty()) {
        std::string_view line = take_until(memory_stat, '\n');
        std::string_view key = take_until(line, ' ');
        const bool is_total = key.starts_with(total_prefix);
        key.remove_prefix(is_total ? total_prefix.size() : 0);
        const std::uint64_t bytes = number_in(line);
        if ((key == "inactive_file" || key == "active_file") && bytes != no_memory_limit) {
            (is_total ? with_children : of_group) += bytes;
            has_total = has_total || is_total;
        }
    }
    return has_total ? with_children : of_group;
}

std::uint64_t memory_left(std::uint64_t limit, std::uint64_t used, std::uint64_t reclaimable) {
    if (limit == no_memory_limit) {
        return limit;
    }
    const std::uint64_t kept = used - std::min(reclaimable, used);
    return limit - std::min(kept, limit);
}

std::uint64_t least_memory_left(const std::vector<std::filesystem::path>& folders) {
    constexpr std::array<std::pair<const char*, const char*>, 2> versions{
        {{"memory.max", "memory.current"}, {"memory.limit_in_bytes", "memory.usage_in_bytes"}}};
    std::uint64_t least = no_memory_limit;
    for (const std::filesystem::path& folder : folders) {
        for (const auto& [limit, usage] : versions) {
            const std::uint64_t used = memory_of_cgroup(first_line(folder / usage));
            least = std::min(least, memory_left(memory_of_cgroup(first_line(folder / limit)),
                                                used == no_memory_limit ? 0 : used,  // a group that does not say
                                                reclaimable_in(contents_of(folder / "memory.stat"))));
        }
    }
    return least;
}

std::uint64_t memory_of_meminfo(std::string_view text) {
    constexpr std::string_view key = "MemAvailable:";
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) {
        return no_memory_limit;
    }
    constexpr std::uint64_t kibibyte = 1024;
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(number_in(text.substr(at + key.size())), kibibyte, &bytes) ? no_memory_limit : bytes;
}

std::uint64_t read_available_memory() {
    return std::min(memory_of_meminfo(contents_of("/proc/meminfo")), least_memory_left(own_cgroup_folders("memory")));
}

void check_weights_fit(std::uint64_t bytes, std::string_view where, std::uint64_t available) {
    constexpr double gibibyte = 1U << 30U;
    if (bytes > available) {
        throw Error(
            ExitCode::out_of_memory,
            {.id = "E-MEM-068",
             .where = std::string(where),
             .what = fmt::format("the weights take {:.1f} GiB, and this process may use {:.1f} GiB",
                                 static_cast<double>(bytes) / gibibyte, static_cast<double>(available) / gibibyte),
             .hint = "ask for more memory (Slurm's --mem), or take a smaller model"});
    }
}

}  // namespace sluice
