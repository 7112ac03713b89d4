#include "core/machine/placement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/machine/placement.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

/// What a line of the table says of one device of a rank, or of all of them on the host.
struct DeviceCells {
    std::string device;
    std::string driver{};
    std::string memory{};
};

std::string device_name(const VisibleGpu& gpu) {
    return is_instance(gpu) || gpu.pci.empty() ? escaped(gpu.id) : fmt::format("GPU {}", short_pci(gpu.pci));
}

std::string node_name(const std::optional<std::uint32_t>& node) {
    return node ? fmt::format("node {}", *node) : "any";
}

DeviceCells host_devices(const Topology& topology, const RankPlace& rank) {
    CpuSet all;
    for (const DevicePlace& device : rank.devices) {
        all |= device.cpus;
    }
    return {fmt::format("host x {}", rank.devices.size()), all.text(), node_name(memory_node_of(topology, all))};
}

std::vector<DeviceCells> gpus_of(const NodeRank& given, const RankPlace& rank) {
    std::vector<DeviceCells> gpus;
    for (const DevicePlace& device : rank.devices) {
        gpus.push_back({device_name(given.gpus[device.number]), device.cpus.text(), node_name(device.memory_node)});
    }
    return gpus.empty() ? std::vector{DeviceCells{"none"}} : gpus;
}

using Ranks = std::vector<std::uint32_t>;

std::string ranks_text(const Ranks& ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", list_text(ranks));
}

class Notes {
public:
    Notes(const Topology& topology, const RankLayout& layout, const Placement& placement)
        : topology_(topology), layout_(layout), placement_(placement) {}

    std::vector<std::string> take() {
        note_shared_cores();
        note_crowded_ranks();
        note_far_gpus();
        note_gpus();
        return std::move(notes_);
    }

private:
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(placement_.ranks.size()); }

    [[nodiscard]] const VisibleGpu& gpu_of(std::uint32_t rank, const DevicePlace& device) const {
        return layout_.ranks[rank].gpus[device.number];
    }

    static std::string name_of(const VisibleGpu& gpu) {
        return fmt::format("GPU {}", gpu.pci.empty() ? escaped(gpu.id) : std::string(short_pci(gpu.pci)));
    }

    void note_shared_cores() {
        std::map<std::pair<std::string, std::uint32_t>, Ranks> groups;  // by CPUs and quota
        for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
            if (!placement_.ranks[rank].has_own_cores) {
                const std::optional<QuotaGroup> quota = quota_group_of(topology_, layout_, rank);
                const CpuSet& cpus = quota ? quota->cpus : placement_.ranks[rank].cpus;
                groups[{cpus.text(), quota ? quota->quota_cpus : 0}].push_back(rank);
            }
        }
        for (const auto& [key, sharers] : groups) {
            const auto& [cpus, quota] = key;
            const std::string cores = count_of(cores_in(topology_, CpuSet::parse(cpus).value()), "core");
            if (quota != 0) {
                notes_.push_back(
                    fmt::format("{}: the cgroup's CPU quota is worth {} of {} (CPUs {}), so threads are not bound to "
                                "cores; raise the quota, or reserve cores",
                                ranks_text(sharers), quota, cores, cpus));
            } else {
                notes_.push_back(
                    fmt::format("{} share {} (CPUs {}), so threads are not bound to cores; start fewer ranks per node, "
                                "or request more CPUs",
                                ranks_text(sharers), cores, cpus));
            }
        }
    }

    /// Two threads that ought to have a core each, and do not, on a rank that has its cores for itself.
    void note_crowded_ranks() {
        for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
            const RankPlace& place = placement_.ranks[rank];
            if (!place.has_own_cores || place.devices.empty()) {
                continue;
            }
            std::vector<CpuSet> threads;
            for (const DevicePlace& device : place.devices) {
                threads.push_back(device.cpus);
            }
            if (layout_.device == DeviceKind::cuda) {
                threads.push_back(place.comm);
            }
            const bool with_readers =
                layout_.device == DeviceKind::cuda && place.reader_threads > 0 &&
                std::ranges::any_of(threads, [&](const CpuSet& one) { return one.meets(place.readers); });
            std::size_t crowded = 0;
            CpuSet where;
            for (const CpuSet& one : threads) {
                const auto meets = [&](const CpuSet& other) { return other.meets(one); };
                // Itself, and another one.
                if (std::ranges::count_if(threads, meets) > 1 || (with_readers && one.meets(place.readers))) {
                    ++crowded;
                    where |= one;
                }
            }
            if (crowded > 0) {
                notes_.push_back(fmt::format("rank {}: {}{} share {} (CPUs {}); request more CPUs per rank", rank,
                                             count_of(crowded, "busy thread"), with_readers ? " and the readers" : "",
                                             count_of(cores_in(topology_, where), "core"), where.text()));
            }
        }
    }

    void note_far_gpus() {
        for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
            for (const DevicePlace& device : placement_.ranks[rank].devices) {
                if (layout_.device != DeviceKind::cuda) {
                    continue;
                }
                const VisibleGpu& gpu = gpu_of(rank, device);
                const auto index = find_gpu(topology_, gpu.pci);
                if (!index) {
                    notes_.push_back(
                        fmt::format("rank {}: it is unknown where {} is attached, so its driver runs anywhere", rank,
                                    name_of(gpu)));
                } else if (!device.is_near) {
                    notes_.push_back(
                        fmt::format("rank {}: {} is attached to CPUs {}, but its driver runs on CPUs {}; "
                                    "let the launcher give the rank some of the former",
                                    rank, name_of(gpu), topology_.gpus[*index].near.text(), device.cpus.text()));
                }
            }
        }
    }

    void note_gpus() {
        std::map<std::string, std::pair<VisibleGpu, Ranks>> drivers;
        for (const NodeRank& rank : layout_.ranks) {
            for (const VisibleGpu& gpu : rank.gpus) {
                drivers[gpu.id].first = gpu;
            }
        }
        for (std::uint32_t rank = 0; rank < ranks() && layout_.device == DeviceKind::cuda; ++rank) {
            for (const DevicePlace& device : placement_.ranks[rank].devices) {
                drivers[gpu_of(rank, device).id].second.push_back(rank);
            }
        }
        for (const auto& [id, gpu] : drivers) {
            if (gpu.second.empty()) {
                notes_.push_back(
                    fmt::format("{}: no rank drives it; start more ranks, or raise run.devices", name_of(gpu.first)));
            } else if (gpu.second.size() > 1) {
                notes_.push_back(
                    fmt::format("{}: {} share it; start one rank per GPU", name_of(gpu.first), ranks_text(gpu.second)));
            }
        }
    }

    const Topology& topology_;
    const RankLayout& layout_;
    const Placement& placement_;
    std::vector<std::string> notes_;
};

}  // namespace

std::string placement_table(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    std::vector<std::vector<std::string>> table{
        {"rank", "device", "driver on", "comm on", "readers on", "memory", "NIC"}};
    for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
        const RankPlace& rank = placement.ranks[i];
        std::string number = fmt::format("{}", i);
        std::string comm = rank.comm.text();
        std::string readers =
            rank.reader_threads == 0 ? "-" : fmt::format("{} ({})", rank.readers.text(), rank.reader_threads);
        std::string nic = rank.nic ? escaped(topology.nics[*rank.nic].name) : "-";
        const std::vector<DeviceCells> devices = layout.device == DeviceKind::cuda
                                                     ? gpus_of(layout.ranks[i], rank)
                                                     : std::vector{host_devices(topology, rank)};
        for (const auto& [device, driver, memory] : devices) {
            table.push_back({number, device, driver, comm, readers, memory, nic});
            number = comm = readers = nic = "";  // a rank's own are said in its first line
        }
    }
    return fmt::format("{} on this node, CPUs of each thread\n{}", count_of(placement.ranks.size(), "rank"),
                       text_columns(table));
}

std::vector<std::string> notes_on(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    return Notes(topology, layout, placement).take();
}

}  // namespace sluice
