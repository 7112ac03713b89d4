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
    std::uint64_t bytes = 0;  ///< Of memory; 0: not known.
    CpuSet cpus{};            ///< For which it is local.
    std::string gpu{};        ///< The GPU's address when this is a GPU's own memory.
};

struct Core {
    std::uint32_t number = 0;
    CpuSet cpus{};  ///< Its hardware threads.
};

struct Gpu {
    std::string pci{};   ///< As normal_pci() writes it.
    std::string uuid{};  ///< "GPU-8-4-4-4-12"; empty: not known.
    std::string name{};  ///< "NVIDIA H200"; may be empty.
    CpuSet near{};       ///< The CPUs that it is attached to; all of the machine's when nothing is nearer.
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
    CpuSet allowed{};              ///< Of those, what the cgroup allows.
    CpuSet mask{};                 ///< Of those, what this process may use: the launcher's binding.
    std::string why_unbindable{};  ///< Why no thread can be tied to these CPUs; empty: nothing known against it.
};

/// "0000:17:00.0" from what CUDA and hwloc write ("0000:17:00.0", "00000000:17:00.0", in capitals, without a domain);
/// empty when `text` is no PCI address.
[[nodiscard]] std::string normal_pci(std::string_view text);

/// Without a domain of 0: "17:00.0".
[[nodiscard]] std::string_view short_pci(std::string_view pci);

/// The index of the GPU at `pci`, if there is one.
[[nodiscard]] std::optional<std::size_t> find_gpu(const Topology& topology, std::string_view pci);

/// The NUMA node whose memory a thread on `cpus` gets when it touches a page first, if it is one.
[[nodiscard]] std::optional<std::uint32_t> memory_node_of(const Topology& topology, const CpuSet& cpus);

/// Physical cores with a CPU in `cpus`.
[[nodiscard]] std::uint32_t cores_in(const Topology& topology, const CpuSet& cpus);

/// Those that a process of this mask can keep busy when its cgroup's quota is worth `quota_cpus`; 0: no limit.
[[nodiscard]] std::uint32_t usable_cores(const Topology& topology, const CpuSet& mask, std::uint32_t quota_cpus);

/// What CUDA knows of the GPUs that this process sees: UUIDs, names, the CPUs next to them where the GPU says so
/// itself, and GPUs that the topology lacks. Of an instance (MIG) it is the whole GPU that counts here.
void add_cuda_gpus(Topology& topology, std::span<const CudaGpu> gpus);

/// A machine of which only its CPUs are known: each counts as a core, all memory is one node.
[[nodiscard]] Topology flat_topology(const CpuSet& cpus);

/// The topology that all ranks of a node place by, which has to be the same: `own`, or the flat one of all their
/// `masks` where hwloc failed one of them. `own.mask` stays.
[[nodiscard]] Topology common_topology(Topology own, std::span<const CpuSet> masks, bool hwloc_failed);

}  // namespace sluice
