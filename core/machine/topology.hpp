#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/cuda.hpp"
#include "core/machine/cpu_set.hpp"

namespace sluice {

struct Package {
    std::uint32_t number = 0;
    std::string model{};  ///< "AMD EPYC 9654"; may be empty.
    CpuSet cpus{};
};

struct NumaNode {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;  ///< Its memory; 0: unknown.
    CpuSet cpus{};            ///< CPUs that it is local to.
    std::string gpu{};        ///< Address of the GPU whose own memory this is; empty: none.
};

struct Core {
    std::uint32_t number = 0;
    CpuSet cpus{};  ///< Its hardware threads.
};

struct Gpu {
    std::string pci{};   ///< As normal_pci() writes it.
    std::string uuid{};  ///< "GPU-8-4-4-4-12"; empty: unknown.
    std::string name{};  ///< "NVIDIA H200"; may be empty.
    CpuSet near{};       ///< CPUs that it is attached to; all of the machine's if none is nearer.
};

struct Nic {
    std::string pci{};
    std::string name{};   ///< "mlx5_0", "eth0".
    bool fabric = false;  ///< InfiniBand and its like, rather than Ethernet.
    CpuSet near{};
};

/// A machine as plain data.
struct Topology {
    std::vector<Package> packages{};
    std::vector<NumaNode> numa_nodes{};
    std::vector<Core> cores{};  ///< Neighbours in this order are near each other.
    std::vector<Gpu> gpus{};    ///< In the order of their addresses, which is CUDA_DEVICE_ORDER=PCI_BUS_ID.
    std::vector<Nic> nics{};
    CpuSet cpus{};                 ///< Online.
    CpuSet allowed{};              ///< Of these, those that the cgroup allows.
    CpuSet mask{};                 ///< Of these, those that this process may use: the launcher's binding.
    std::string why_unbindable{};  ///< Why no thread can be bound to these CPUs; empty: nothing speaks against it.
};

/// "0000:17:00.0" from what CUDA and hwloc write ("0000:17:00.0", "00000000:17:00.0", in capitals, without a domain);
/// empty when `text` is no PCI address.
[[nodiscard]] std::string normal_pci(std::string_view text);

/// Without a domain of 0: "17:00.0".
[[nodiscard]] std::string_view short_pci(std::string_view pci);

/// The index of the GPU at `pci`, if there is one.
[[nodiscard]] std::optional<std::size_t> find_gpu(const Topology& topology, std::string_view pci);

/// The NUMA node of pages first touched by a thread on `cpus`, if it is a single one.
[[nodiscard]] std::optional<std::uint32_t> memory_node_of(const Topology& topology, const CpuSet& cpus);

/// Physical cores with a CPU in `cpus`.
[[nodiscard]] std::uint32_t cores_in(const Topology& topology, const CpuSet& cpus);

/// Cores that a process with this mask and CPU quota can keep busy. `quota_cpus` 0: no limit.
[[nodiscard]] std::uint32_t usable_cores(const Topology& topology, const CpuSet& mask, std::uint32_t quota_cpus);

/// Adds what CUDA knows of the GPUs that this process sees: UUIDs, names, the CPUs near them if the GPU tells, and GPUs
/// that the topology lacks. A MIG instance counts as its whole GPU.
void add_cuda_gpus(Topology& topology, std::span<const CudaGpu> gpus);

/// A machine of which only the CPUs are known: each is a core, and all memory is one NUMA node.
[[nodiscard]] Topology flat_topology(const CpuSet& cpus);

/// The topology by which all ranks of a node compute the same placement: `own`, or a flat one of all their `masks` if
/// hwloc failed on any of them. `own.mask` is kept.
[[nodiscard]] Topology common_topology(Topology own, std::span<const CpuSet> masks, bool hwloc_failed);

}  // namespace sluice
