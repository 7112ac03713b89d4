#pragma once

#include <string>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "kernels/host_instructions.hpp"
#include "tools/runtime/gpu_start.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/rank_context.hpp"

namespace sluice {

// How all ranks begin: they meet, then rank 0 announces twice: a GpuWish once it has read the job file, whereupon all
// start their GPUs, and the plan once the job is prepared, with which each prepares itself (prepare_rank.hpp).

/// What the ranks know about each other before the job is known.
struct Meeting {
    std::vector<std::string> hosts{};              ///< Of all ranks; rank 0 only.
    std::vector<HostInstructions> instructions{};  ///< Of each rank's host devices; rank 0 only.
    ClockOffset clock{};                           ///< This rank's.
};

/// Checks that all ranks run the same build and were started for the same job, and aligns the clocks. Collective.
/// Throws Error (configuration, E-MPI-070 and E-MPI-072).
[[nodiscard]] Meeting meet_ranks(const RankContext& context);

/// What rank 0 announces: what to do next, the exit code of all ranks because the job could not be prepared, or that
/// there is nothing to do.
struct RootAnnouncement {
    int code = 0;
    bool complete = false;  ///< The output exists: nothing to do, no plan.
    GpuWish wish{};         ///< The first time.
    JobPlan plan{};         ///< The second time.
};
[[nodiscard]] std::string encode(const RootAnnouncement& announcement);
[[nodiscard]] RootAnnouncement decode_announcement(const std::string& text);

/// Broadcasts what rank 0 announces to all ranks, which pass nothing. Collective.
[[nodiscard]] RootAnnouncement announce(const RankContext& context, const RootAnnouncement& mine = {});

}  // namespace sluice
