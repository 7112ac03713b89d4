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

/// What all ranks have to know of a job before GPUs start.
struct GpuWish {
    bool wanted = false;                     ///< The job computes on GPUs, as far as that can be told without CUDA.
    std::optional<std::uint32_t> devices{};  ///< A rank; nullopt: its share of the node.
    BindMode bind = BindMode::gpu_local;
};
[[nodiscard]] GpuWish gpu_wish(const JobConfig& job);
[[nodiscard]] std::string encode(const GpuWish& wish);
[[nodiscard]] GpuWish decode_gpu_wish(const std::string& text);

/// That this process sees, by read_driver_gpus() and seen_by_cuda(); nullopt: CUDA has to be asked.
[[nodiscard]] std::optional<std::vector<CudaGpu>> gpus_in_sight();

/// GPUs of a rank on their way, while rank 0 reads the job.
struct GpuStart {
    std::optional<NodeView> node{};    ///< By which GPUs are shared; on no rank of a node where CUDA has to be asked.
    std::vector<std::string> uuids{};  ///< Of those that this rank drives, in the order of its place's devices.
    std::unique_ptr<DriverStart> driver{};  ///< Null: nothing is started yet.
};

/// Shares a node's GPUs among its ranks before CUDA starts, lets this process see only its own (CUDA_VISIBLE_DEVICES):
/// the driver takes its time for each GPU that it shows. Then starts CUDA on them, and returns meanwhile. Collective
/// over the node, and before this process's first call of CUDA.
[[nodiscard]] GpuStart start_gpus(const RankContext& context, const GpuWish& wish);

/// Whether `mine` holds on all ranks of this one's node. Collective over the node.
[[nodiscard]] bool all_of_node(const RankContext& context, bool mine);

}  // namespace sluice
