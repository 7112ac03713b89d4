#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/mpi_session.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/placement.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/modes.hpp"

namespace sluice {

/// A rank's requirements of its node.
struct NodeWish {
    DeviceKind device = DeviceKind::host;  ///< Not automatic.
    /// Driven by each rank; nullopt: its share. For host devices see most_host_devices().
    std::optional<std::uint32_t> devices{};
    BindMode bind = BindMode::gpu_local;
    bool reads = false;                            ///< Whether this rank reads the input.
    TopologyDetail detail = TopologyDetail::cpus;  ///< Least detail; CUDA needs the devices.
    std::optional<std::vector<CudaGpu>> gpus{};    ///< Visible to this process; nullopt: query CUDA.
};

/// A rank's node and its distribution among ranks. All ranks of the node have the same layout and placement.
struct NodeView {
    Machine machine{};
    RankLayout layout{};
    Placement placement{};
    std::size_t me = 0;  ///< This rank's index on the node.
    int first_rank = 0;  ///< First rank of the node, by its number in the job.
    /// Why BindMode::none could not remove the launcher's CPU mask from this thread.
    std::optional<ErrorText> finding{};
};

/// Most host devices that a rank drives, regardless of the request: one per core, but always a few. Each has its own
/// threads and buffers.
[[nodiscard]] std::uint32_t most_host_devices(std::size_t cores_of_node);

/// Collective over the node; null `session`: a single process. With BindMode::none the calling thread drops the
/// launcher's CPU mask. Throws Error (configuration) when `devices` exceeds the GPUs that a rank sees.
[[nodiscard]] NodeView view_node(MpiSession* session, const NodeWish& wish);

}  // namespace sluice
