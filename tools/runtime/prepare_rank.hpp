#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/endpoint.hpp"
#include "comm/wire.hpp"
#include "core/app.hpp"
#include "core/input/item_source.hpp"
#include "core/machine/binding.hpp"
#include "core/machine/gpu_sampler.hpp"
#include "core/machine/placement.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "scheduler/reading.hpp"
#include "tools/runtime/driver_team.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

// What all ranks do together before the first chunk, in the order of these functions. Rank 0 announces twice: with a
// GpuWish once it has read the job's file, upon which all start their GPUs, and with the plan once it has read the job.

/// What the ranks know of each other before there is a job.
struct Meeting {
    std::vector<std::string> hosts{};              ///< Of all ranks; only rank 0 has them.
    std::vector<HostInstructions> instructions{};  ///< Of the host devices of each rank, likewise.
    ClockOffset clock{};                           ///< This rank's.
};

/// The ranks agree on a build and on the time. Collective. Throws Error (configuration, E-MPI-070).
[[nodiscard]] Meeting meet_ranks(const RankContext& context);

/// Rank 0's word, which is `word` there, for all ranks. Collective.
[[nodiscard]] RootAnnouncement announce(const RankContext& context, RootAnnouncement word = {});

/// A rank's node, and its part of it.
struct RankShare {
    Machine machine{};
    RankPlace place{};
    bool binds = false;                       ///< Each thread is tied to the CPUs of its place.
    std::vector<std::string> sampled_gpus{};  ///< gpus_to_sample(); on a host none.
};

/// What a rank runs a job with.
struct PreparedRank {
    RankShare share{};
    std::vector<std::uint32_t> devices{};         ///< Of every rank, by its number.
    QueueSizes queues{};                          ///< Rank 0's.
    std::unique_ptr<DriverStart> driver_start{};  ///< Null on a host.
    std::unique_ptr<GpuSampler> gpu_sampler{};    ///< Of those; at work.
    std::unique_ptr<LoadedApp> app{};
    std::string sample{};  ///< For Model::calibrate(); empty: nobody wants one.
    MessageShape wire{};
    std::deque<Endpoint> endpoints{};  ///< One for each of its devices.
};

/// A rank's place on its node, its weights, packed once for all ranks of a node, and a sample of the job's items.
/// `weights` and `source` are rank 0's; others have none. Collective. Throws Error.
[[nodiscard]] PreparedRank prepare_rank(const RankContext& context, const JobPlan& plan, const Meeting& meeting,
                                        GpuStart gpus, WeightBlob weights = {}, const ItemSource* source = nullptr);

/// Throws Error (out_of_memory) unless what the rank is going to allocate fits into its share of the node's memory.
void check_memory(const RankContext& context, const JobPlan& plan, const PreparedRank& rank);

/// How the drivers of its devices run; for as long as `rank` lives.
[[nodiscard]] DriverTeamOptions driver_options(const RankContext& context, const JobPlan& plan, PreparedRank& rank);

/// Ties the calling thread to the comm thread's place, from now on.
void bind_comm_thread(const RankContext& context, RankShare& share);

/// While it lives, threads that the calling thread starts are readers, or the writer: they run in the readers' place,
/// or when that has fewer cores than there are `readers`, on all of the rank's.
class StartingReaders {
public:
    StartingReaders(const RankContext& context, RankShare& share, std::uint32_t readers);

private:
    std::optional<BoundWhile> bound_;
};

}  // namespace sluice
