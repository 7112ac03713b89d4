#include "core/machine/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

std::optional<std::uint32_t> hex_number(std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string normal_pci(std::string_view text) {
    const std::size_t dot = text.rfind('.');
    const std::size_t device = text.rfind(':', dot);
    if (dot == std::string_view::npos || device == std::string_view::npos) {
        return {};
    }
    const std::size_t bus = device == 0 ? std::string_view::npos : text.rfind(':', device - 1);
    const bool has_domain = bus != std::string_view::npos;
    const std::string_view bus_text = text.substr(has_domain ? bus + 1 : 0, device - (has_domain ? bus + 1 : 0));
    const auto domain_number = has_domain ? hex_number(text.substr(0, bus)) : std::optional(0U);
    const auto bus_number = hex_number(bus_text);
    const auto device_number = hex_number(text.substr(device + 1, dot - device - 1));
    const auto function_number = hex_number(text.substr(dot + 1));
    if (!domain_number || !bus_number || !device_number || !function_number) {
        return {};
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain_number, *bus_number, *device_number, *function_number);
}

std::string_view short_pci(std::string_view pci) {
    return pci.starts_with("0000:") ? pci.substr(5) : pci;
}

std::optional<std::size_t> find_gpu(const Topology& topology, std::string_view pci) {
    const auto found = std::ranges::find(topology.gpus, pci, &Gpu::pci);
    return found == topology.gpus.end() ? std::nullopt : std::optional(std::size_t(found - topology.gpus.begin()));
}

std::optional<std::uint32_t> memory_node_of(const Topology& topology, const CpuSet& cpus) {
    std::optional<std::uint32_t> node;
    for (const NumaNode& one : topology.numa_nodes) {
        // Of several memories of the same CPUs the kernel takes the one with the lowest number: ordinary memory.
        if (one.gpu.empty() && !cpus.empty() && one.cpus.contains(cpus)) {
            node = std::min(node.value_or(one.number), one.number);
        }
    }
    return node;
}

std::uint32_t cores_in(const Topology& topology, const CpuSet& cpus) {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(topology.cores, [&](const Core& core) { return core.cpus.meets(cpus); }));
}

std::uint32_t usable_cores(const Topology& topology, const CpuSet& mask, std::uint32_t quota_cpus) {
    const std::uint32_t cores = cores_in(topology, mask);
    return quota_cpus == 0 ? cores : std::min(cores, quota_cpus);
}

void add_cuda_gpus(Topology& topology, std::span<const CudaGpu> gpus) {
    for (const CudaGpu& from : gpus) {
        const std::string pci = normal_pci(from.pci);
        auto to = std::ranges::find(topology.gpus, pci, &Gpu::pci);
        if (to == topology.gpus.end()) {  // a container may hide the bus
            to = topology.gpus.insert(to, {.pci = pci, .near = topology.cpus});
        }
        if (names_instance(from.name)) {
            to->name = to->name.empty() ? from.name.substr(0, from.name.find(" MIG ")) : to->name;
        } else {
            to->uuid = from.uuid;
            to->name = from.name;
        }
        // Where CPU and GPU are one chip, the bus says nothing about who is next to whom.
        const auto node = std::ranges::find_if(topology.numa_nodes, [&](const NumaNode& one) {
            return from.host_numa_node == one.number && !one.cpus.empty();
        });
        if (node != topology.numa_nodes.end()) {
            to->near = node->cpus;
        }
    }
    std::ranges::sort(topology.gpus, {}, &Gpu::pci);
}

Topology flat_topology(const CpuSet& cpus) {
    Topology topology{.numa_nodes = {{.cpus = cpus}}, .cpus = cpus, .allowed = cpus, .mask = cpus};
    for (const std::uint32_t cpu : cpus.cpus()) {
        topology.cores.push_back({.number = cpu, .cpus = CpuSet::range(cpu, cpu)});
    }
    return topology;
}

Topology common_topology(Topology own, std::span<const CpuSet> masks, bool hwloc_failed) {
    if (!hwloc_failed) {
        return own;
    }
    CpuSet all = own.mask;
    for (const CpuSet& mask : masks) {
        all |= mask;
    }
    Topology common = flat_topology(all);
    common.mask = own.mask;
    common.why_unbindable = std::move(own.why_unbindable);
    return common;
}

}  // namespace sluice
