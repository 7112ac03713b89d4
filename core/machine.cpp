#include "core/machine.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>

#include "core/cgroup.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

[[noreturn]] void refuse(const char* call) {
    throw Error(ExitCode::unavailable, {.id = "E-HWL-107",
                                        .where = call,
                                        .what = "hwloc cannot read this machine's topology",
                                        .hint = "set run.devices to a number instead of \"auto\""});
}

Topology load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        refuse("hwloc_topology_init");
    }
    Topology topology(raw);
    if (hwloc_topology_load(topology.get()) != 0) {
        refuse("hwloc_topology_load");
    }
    return topology;
}

Bitmap parse_mask(const std::string& mask) {
    Bitmap bitmap(hwloc_bitmap_alloc());
    expects(hwloc_bitmap_list_sscanf(bitmap.get(), mask.c_str()) == 0, "a CPU mask in hwloc's list form");
    return bitmap;
}

/// Of this process's own cgroups and those around them; 0: no limit.
std::uint32_t quota_cpus() {
    std::uint32_t least = 0;
    const auto take = [&](const std::string& text) {
        const std::uint32_t cpus = cpus_of_quota(text);
        least = cpus == 0 ? least : least == 0 ? cpus : std::min(least, cpus);
    };
    for (const std::filesystem::path& folder : own_cgroup_folders("cpu")) {
        take(first_line(folder / "cpu.max"));
        take(first_line(folder / "cpu.cfs_quota_us") + " " + first_line(folder / "cpu.cfs_period_us"));
    }
    return least;
}

}  // namespace

UsableCpus read_usable_cpus() {
    const Topology topology = load_topology();
    const Bitmap usable(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), usable.get(), HWLOC_CPUBIND_PROCESS) != 0) {
        hwloc_bitmap_copy(usable.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
    }
    hwloc_bitmap_and(usable.get(), usable.get(), hwloc_topology_get_allowed_cpuset(topology.get()));

    std::uint32_t cores = 0;
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, core)) != nullptr;) {
        cores += hwloc_bitmap_intersects(core->cpuset, usable.get()) != 0 ? 1U : 0U;
    }
    if (cores == 0) {  // some virtual machines describe processing units only
        cores = static_cast<std::uint32_t>(std::max(hwloc_bitmap_weight(usable.get()), 1));
    }
    if (const std::uint32_t quota = quota_cpus(); quota != 0) {
        cores = std::min(cores, quota);
    }
    char* text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, usable.get()) < 0) {
        refuse("hwloc_bitmap_list_asprintf");
    }
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    return {.mask = text, .cores = cores};
}

std::uint32_t cpus_of_quota(std::string_view text) {
    std::array<std::int64_t, 2> numbers{};  // quota and period in microseconds
    for (std::int64_t& number : numbers) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || number <= 0) {
            return 0;  // "max", -1 or no such file: no limit
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return static_cast<std::uint32_t>(std::min<std::int64_t>((numbers[0] - 1) / numbers[1] + 1, 1 << 20));
}

std::uint32_t host_devices_of(std::span<const UsableCpus> ranks, std::size_t me) {
    const Bitmap mine = parse_mask(ranks[me].mask);
    std::uint32_t sharers = 0;
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i == me || hwloc_bitmap_intersects(parse_mask(ranks[i].mask).get(), mine.get()) != 0) {
            ++sharers;
            before += i < me ? 1U : 0U;
        }
    }
    const std::uint32_t share = ranks[me].cores / sharers + (before < ranks[me].cores % sharers ? 1U : 0U);
    return std::max(share, 1U);
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) {
        return "localhost";
    }
    return name.data();
}

}  // namespace sluice
