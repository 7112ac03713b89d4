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

/// What a rank is to do on its node.
struct NodeWish {
    DeviceKind device = DeviceKind::host;  ///< Not automatic.
    std::optional<std::uint32_t>
        devices{};  ///< Each rank drives; nullopt: its share. On the host see most_host_devices.
    BindMode bind = BindMode::gpu_local;
    bool reads = false;                            ///< This rank does.
    TopologyDetail detail = TopologyDetail::cpus;  ///< At least; CUDA needs to know of devices.
    std::optional<std::vector<CudaGpu>> gpus{};    ///< That this process sees; nullopt: CUDA is asked.
};

/// A rank's node, and who gets what of it. All ranks of the node have the same layout and placement.
struct NodeView {
    Machine machine{};
    RankLayout layout{};
    Placement placement{};
    std::size_t me = 0;                  ///< This rank's place among those of the node.
    int first_rank = 0;                  ///< Of the node, by its number in the job.
    std::optional<ErrorText> finding{};  ///< Why BindMode::none could not free this thread of the launcher's mask.
};

/// So many devices are driven by a rank on the host, however many it is to drive: as many as there are cores, and a few
/// whatever they are. Each has threads and buffers of its own.
[[nodiscard]] std::uint32_t most_host_devices(std::size_t cores_of_node);

/// Collective over the node; null: a single process. With BindMode::none the calling thread leaves the launcher's mask.
/// Throws Error (configuration) when `devices` is more GPUs than a rank sees.
[[nodiscard]] NodeView view_node(MpiSession* session, const NodeWish& wish);

}  // namespace sluice
