#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/machine/placement_text.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr std::size_t cores_per_group = 8;
constexpr std::size_t cores_per_line = 64;
constexpr double gibi = 1024.0 * 1024.0 * 1024.0;

constexpr std::string_view base36_digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/// One character, '#' beyond those that there are.
char digit_of(std::size_t rank) {
    return rank < base36_digits.size() ? base36_digits[rank] : '#';
}

class Drawing {
public:
    Drawing(const Topology& topology, const RankLayout& layout, const Placement& placement)
        : topology_(topology), layout_(layout), placement_(placement) {}

    std::string draw() {
        text_ = head();
        draw_nodes();
        draw_devices_between_nodes();
        text_ +=
            "\n  D drives a device   c communicates   r reads and writes   + several of them or several ranks\n"
            "  . nothing   - not for us\n";
        text_ += placement_.ranks.size() > base36_digits.size() ? "  # a rank beyond z, which is 35\n" : "";
        text_ += "\n";
        text_ += placement_table(topology_, layout_, placement_);
        text_ += placement_.notes.empty() ? "" : "\n";
        for (const std::string& note : placement_.notes) {
            text_ += fmt::format("note: {}\n", note);
        }
        return std::move(text_);
    }

private:
    [[nodiscard]] std::string head() const {
        const Topology& t = topology_;
        std::string text =
            fmt::format("{}, {}, {} with {}; {}, {}\n", count_of(t.packages.size(), "package"),
                        count_of(t.numa_nodes.size(), "NUMA node"), count_of(t.cores.size(), "core"),
                        count_of(t.cpus.size(), "CPU"), count_of(t.gpus.size(), "GPU"), count_of(t.nics.size(), "NIC"));
        text += fmt::format("CPUs {}", t.cpus.text());
        text += t.mask == t.cpus ? ", all for us" : "";
        text += t.allowed == t.cpus ? "" : fmt::format("; the cgroup allows {}", t.allowed.text());
        text += t.mask == t.allowed ? "" : fmt::format("; the launcher's mask is {}", t.mask.text());
        return text + "\n";
    }

    /// NUMA nodes with the same CPUs are drawn as one.
    void draw_nodes() {
        std::vector<CpuSet> drawn;
        const Package* last = nullptr;
        for (const NumaNode& node : topology_.numa_nodes) {
            if (std::ranges::find(drawn, node.cpus) != drawn.end()) {
                continue;
            }
            drawn.push_back(node.cpus);
            const auto package = std::ranges::find_if(topology_.packages,
                                                      [&](const Package& one) { return one.cpus.contains(node.cpus); });
            if (package != topology_.packages.end() && &*package != last && !node.cpus.empty()) {
                last = &*package;
                text_ += fmt::format("\npackage {}{}\n", package->number,
                                     package->model.empty() ? "" : ": " + escaped(package->model));
            }
            draw_node(node.cpus);
        }
    }

    void draw_node(const CpuSet& cpus) {
        text_ += "\n";
        for (const NumaNode& node : topology_.numa_nodes) {
            if (node.cpus == cpus) {
                text_ += fmt::format("  NUMA node {}", node.number);
                text_ += node.gpu.empty() ? "" : fmt::format(", memory of GPU {}", short_pci(node.gpu));
                text_ += node.bytes == 0 ? "" : fmt::format(", {:.1f} GiB", static_cast<double>(node.bytes) / gibi);
                text_ += "\n";
            }
        }
        draw_cores(cpus);
        draw_devices(cpus);
    }

    void draw_cores(const CpuSet& cpus) {
        std::vector<const Core*> cores;
        for (const Core& core : topology_.cores) {
            if (core.cpus.meets(cpus)) {
                cores.push_back(&core);
            }
        }
        for (std::size_t first = 0; first < cores.size(); first += cores_per_line) {
            const std::size_t end = std::min(first + cores_per_line, cores.size());
            CpuSet line;
            std::string ranks;
            std::string threads;
            for (std::size_t i = first; i < end; ++i) {
                const std::string_view gap = i > first && (i - first) % cores_per_group == 0 ? " " : "";
                line |= cores[i]->cpus;
                ranks += fmt::format("{}{}", gap, rank_on(*cores[i]));
                threads += fmt::format("{}{}", gap, thread_on(*cores[i]));
            }
            text_ += fmt::format("    CPUs {}\n    rank    {}\n    thread  {}\n", line.text(), ranks, threads);
        }
    }

    [[nodiscard]] bool is_for_us(const Core& core) const {
        return std::ranges::any_of(layout_.ranks, [&](const NodeRank& rank) { return rank.mask.meets(core.cpus); });
    }

    [[nodiscard]] char rank_on(const Core& core) const {
        char mark = is_for_us(core) ? '.' : '-';
        for (std::size_t rank = 0; rank < placement_.ranks.size(); ++rank) {
            if (placement_.ranks[rank].cpus.meets(core.cpus)) {
                mark = mark == '.' ? digit_of(rank) : '+';
            }
        }
        return mark;
    }

    [[nodiscard]] char thread_on(const Core& core) const {
        std::size_t drivers = 0;
        bool comm = false;
        bool readers = false;
        for (const RankPlace& rank : placement_.ranks) {
            drivers += static_cast<std::size_t>(std::ranges::count_if(
                rank.devices, [&](const DevicePlace& device) { return device.cpus.meets(core.cpus); }));
            if (layout_.device == DeviceKind::cuda) {  // on the host these are wherever there is time
                comm = comm || rank.comm.meets(core.cpus);
                readers = readers || (rank.reader_threads > 0 && rank.readers.meets(core.cpus));
            }
        }
        return drivers + (comm ? 1U : 0U) > 1 ? '+'
               : drivers == 1                 ? 'D'
               : comm                         ? 'c'
               : readers                      ? 'r'
               : is_for_us(core)              ? '.'
                                              : '-';
    }

    void draw_devices(const CpuSet& near) {
        std::vector<std::vector<std::string>> rows;
        for (const Gpu& gpu : topology_.gpus) {
            if (gpu.near == near) {
                draw_gpu(rows, gpu);
            }
        }
        for (std::size_t i = 0; i < topology_.nics.size(); ++i) {
            const Nic& nic = topology_.nics[i];
            if (nic.near == near) {
                rows.push_back({"  NIC", std::string(short_pci(nic.pci)), escaped(nic.name), users_of(i)});
            }
        }
        text_ += text_columns(rows);
    }

    /// Its instances have a line each.
    void draw_gpu(std::vector<std::vector<std::string>>& rows, const Gpu& gpu) const {
        std::set<std::string> instances;
        for (const NodeRank& rank : layout_.ranks) {
            for (const VisibleGpu& one : rank.gpus) {
                if (is_instance(one) && one.pci == gpu.pci) {
                    instances.insert(one.id);
                }
            }
        }
        const auto is_whole = [&](const VisibleGpu& one) { return one.pci == gpu.pci; };
        rows.push_back({"  GPU", std::string(short_pci(gpu.pci)), escaped(gpu.name),
                        instances.empty() ? driver_of(is_whole) : "in instances"});
        for (const std::string& id : instances) {
            rows.push_back({"  MIG", "", escaped(id), driver_of([&](const VisibleGpu& one) { return one.id == id; })});
        }
    }

    template <class IsIt>
    [[nodiscard]] std::string driver_of(const IsIt& is_it) const {
        std::vector<std::uint32_t> ranks;
        bool seen = false;
        for (std::uint32_t rank = 0; rank < layout_.ranks.size(); ++rank) {
            const std::vector<VisibleGpu>& gpus = layout_.ranks[rank].gpus;
            seen = seen || std::ranges::any_of(gpus, is_it);
            const auto& devices = placement_.ranks[rank].devices;
            if (layout_.device == DeviceKind::cuda &&
                std::ranges::any_of(devices, [&](const DevicePlace& device) { return is_it(gpus[device.number]); })) {
                ranks.push_back(rank);
            }
        }
        return !ranks.empty() ? "rank " + list_text(ranks) : seen ? "nobody's" : "not visible";
    }

    [[nodiscard]] std::string users_of(std::size_t nic) const {
        std::vector<std::uint32_t> ranks;
        for (std::uint32_t rank = 0; rank < placement_.ranks.size(); ++rank) {
            if (placement_.ranks[rank].nic == nic) {
                ranks.push_back(rank);
            }
        }
        return ranks.empty() ? "nobody's" : "rank " + list_text(ranks);
    }

    /// Those that are attached to several NUMA nodes, or to a part of one.
    void draw_devices_between_nodes() {
        std::vector<CpuSet> drawn;
        for (const NumaNode& node : topology_.numa_nodes) {
            drawn.push_back(node.cpus);
        }
        const auto draw_rest = [&](const CpuSet& near) {
            if (std::ranges::find(drawn, near) == drawn.end()) {
                drawn.push_back(near);
                text_ += fmt::format("\nnear CPUs {}\n", near.text());
                draw_devices(near);
            }
        };
        for (const Gpu& gpu : topology_.gpus) {
            draw_rest(gpu.near);
        }
        for (const Nic& nic : topology_.nics) {
            draw_rest(nic.near);
        }
    }

    const Topology& topology_;
    const RankLayout& layout_;
    const Placement& placement_;
    std::string text_;
};

}  // namespace

std::string topology_text(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    return Drawing(topology, layout, placement).draw();
}

}  // namespace sluice
