#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/node_view.hpp"
#include "core/config/config.hpp"
#include "core/device/cuda.hpp"
#include "core/device/driver_start.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// What all ranks need to know about a job before GPUs start.
struct GpuWish {
    bool wanted = false;                     ///< The job will use GPUs, as far as known without CUDA.
    std::optional<std::uint32_t> devices{};  ///< Per rank; nullopt: its share of the node.
    BindMode bind = BindMode::gpu_local;
};
[[nodiscard]] GpuWish gpu_wish(const JobConfig& job);

/// GPUs visible to this process, by read_driver_gpus() and seen_by_cuda(); nullopt: CUDA must be queried.
[[nodiscard]] std::optional<std::vector<CudaGpu>> gpus_in_sight();

/// GPUs of a rank, starting while rank 0 reads the job.
struct GpuStart {
    /// Distribution of the GPUs; nullopt on all ranks of a node where CUDA must be queried.
    std::optional<NodeView> node{};
    std::vector<std::string> uuids{};       ///< Of this rank's GPUs, in the order of its place's devices.
    std::vector<std::uint32_t> numbers{};   ///< Their indexes in CUDA, by the driver's list.
    std::unique_ptr<DriverStart> driver{};  ///< Null: not started yet.
};

/// Distributes a node's GPUs among its ranks before CUDA starts and makes only its own visible to this process
/// (CUDA_VISIBLE_DEVICES), because the driver takes time for each visible GPU. Then starts CUDA on them asynchronously,
/// the ranks of a node in turn. Collective over the node; call before this process's first CUDA call.
///
/// Sets CUDA_DEVICE_MAX_CONNECTIONS to 1 unless it is set: a context takes the driver 45 ms and 12 ms for each
/// connection (an H200), and a pipeline, whose kernels are all on one stream, gains nothing by several.
[[nodiscard]] GpuStart start_gpus(const RankContext& context, const GpuWish& wish);

/// GPUs of all ranks, if each rank drives as many as rank 0, which alone asks. At least 1.
[[nodiscard]] std::uint32_t expected_gpus(const RankContext& context, const GpuWish& wish, const GpuStart& start);

/// Whether `mine` is true on all ranks of this node. Collective over the node.
[[nodiscard]] bool all_of_node(const RankContext& context, bool mine);

}  // namespace sluice
