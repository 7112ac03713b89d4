#include "core/machine/placement_table.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text/text_columns.hpp"

namespace sluice {
namespace {

/// A line of the table.
struct Row {
    std::string rank{};
    std::string device{};
    std::string driver{};
    std::string comm{};
    std::string readers{};
    std::string memory{};
    std::string nic{};

    [[nodiscard]] std::vector<std::string> cells() const { return {rank, device, driver, comm, readers, memory, nic}; }
};

std::string device_name(const VisibleGpu& gpu) {
    return is_instance(gpu) || gpu.pci.empty() ? escaped(gpu.id) : fmt::format("GPU {}", short_pci(gpu.pci));
}

std::string node_name(const std::optional<std::uint32_t>& node) {
    return node ? fmt::format("node {}", *node) : "any";
}

void set_host_devices(Row& row, const Topology& topology, const RankPlace& rank) {
    CpuSet all;
    for (const DevicePlace& device : rank.devices) {
        all |= device.cpus;
    }
    row.device = fmt::format("host x {}", rank.devices.size());
    row.driver = all.text();
    row.memory = node_name(memory_node_of(topology, all));
}

/// `first` is the rank's first row, as yet without a device.
std::vector<Row> gpu_rows(Row first, const NodeRank& given, const RankPlace& rank) {
    std::vector<Row> rows;
    for (const DevicePlace& device : rank.devices) {
        Row& row = rows.emplace_back(rows.empty() ? first : Row{});
        row.device = device_name(given.gpus[device.number]);
        row.driver = device.cpus.text();
        row.memory = node_name(device.memory_node);
    }
    if (rows.empty()) {
        first.device = "none";
        rows.push_back(std::move(first));
    }
    return rows;
}

}  // namespace

std::string placement_table(const Topology& topology, const RankLayout& layout, const Placement& placement) {
    std::vector<std::vector<std::string>> table{
        {"rank", "device", "driver on", "comm on", "readers on", "memory", "NIC"}};
    for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
        const RankPlace& rank = placement.ranks[i];
        Row row{.rank = fmt::format("{}", i), .comm = rank.comm.text()};
        row.readers = rank.reader_threads == 0 ? "-" : fmt::format("{} ({})", rank.readers.text(), rank.reader_threads);
        row.nic = rank.nic ? escaped(topology.nics[*rank.nic].name) : "-";
        std::vector<Row> rows;
        if (layout.device == DeviceKind::cuda) {
            rows = gpu_rows(std::move(row), layout.ranks[i], rank);
        } else {
            set_host_devices(row, topology, rank);
            rows.push_back(std::move(row));
        }
        for (const Row& one : rows) {
            table.push_back(one.cells());
        }
    }
    return fmt::format("{} on this node, CPUs of each thread\n{}", count_of(placement.ranks.size(), "rank"),
                       text_columns(table));
}

}  // namespace sluice
