#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/endpoint.hpp"
#include "comm/wire.hpp"
#include "core/app.hpp"
#include "core/input/item_source.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/gpu_sampler.hpp"
#include "core/machine/placement.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "core/system/node_memory.hpp"
#include "scheduler/reading.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/meet_ranks.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

/// A rank's node, and its share of it.
struct RankShare {
    Machine machine{};
    RankPlace place{};
    bool binds = false;                       ///< Each thread is bound to the CPUs of its place.
    std::vector<std::string> gpus{};          ///< UUIDs of the place's GPUs; none if CUDA has shown them itself.
    std::vector<std::string> sampled_gpus{};  ///< From gpus_to_sample(); none on a host.
};

/// A rank's resources for a job.
struct PreparedRank {
    RankShare share{};
    std::vector<std::uint32_t> devices{};         ///< Number of devices, by rank.
    std::optional<QueueSizes> queues{};           ///< Rank 0's.
    std::unique_ptr<DriverStart> driver_start{};  ///< Null on a host.
    std::unique_ptr<GpuSampler> gpu_sampler{};    ///< Of share.sampled_gpus; running.
    std::unique_ptr<LoadedApp> app{};
    std::string sample{};  ///< For Model::calibrate(); empty: not needed.
    MessageShape wire{};
    std::deque<Endpoint> endpoints{};  ///< One per device.
    NodeMemory staging{};              ///< The memory of `shared`.
    SharedItems shared{};
    std::uint64_t host_bytes = UINT64_MAX;  ///< RankContext::memory_share(), before any rank has made buffers.

    /// Devices of all ranks.
    [[nodiscard]] std::uint32_t total_devices() const;
};

/// Packs `app`'s weights, if it has any, in memory of this process alone, with up to `threads` threads. Throws Error
/// (out_of_memory, E-MEM-068) if they take more than `available`.
void pack_alone(LoadedApp& app, std::uint32_t threads, std::uint64_t available = read_available_memory());

/// Determines the rank's place on its node, packs the weights once per node, distributes a sample of the job's items,
/// and shares rank 0's staging memory with its node. `weights` and `source` are rank 0's; others pass none. Collective.
/// Throws Error, on rank 0 also as check_memory() does, which other ranks call once rank 0 serves.
[[nodiscard]] PreparedRank prepare_rank(const RankContext& context, const JobPlan& plan, const Meeting& meeting,
                                        GpuStart gpus, WeightBlob weights = {}, const ItemSource* source = nullptr);

/// Throws Error (out_of_memory) unless the rank's planned memory fits its share of the node's.
void check_memory(const JobPlan& plan, const PreparedRank& rank);

/// Options of its device drivers; valid while `rank` lives.
[[nodiscard]] DriverTeamOptions driver_options(const RankContext& context, const JobPlan& plan, PreparedRank& rank);

/// Binds the calling thread to the comm thread's CPUs.
void bind_comm_thread(const RankContext& context, RankShare& share);

/// While it lives, threads started by the calling thread (readers, the writer) run on the readers' CPUs, or on all of
/// the rank's if those have fewer cores than `readers`.
class StartingReaders {
public:
    StartingReaders(const RankContext& context, RankShare& share, std::uint32_t readers);

private:
    std::optional<BoundWhile> bound_;
};

}  // namespace sluice
