#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi_links.hpp"
#include "core/config/config.hpp"
#include "core/device/copy_speed.hpp"
#include "core/machine/launch.hpp"
#include "tools/doctor/slurm_version.hpp"

namespace sluice {

/// A GPU that a rank drives.
struct GpuFacts {
    std::string id{};
    std::string pci{};   ///< Empty: not known.
    std::string name{};  ///< "NVIDIA H200"; may be empty.
    bool is_near = true;
    std::string near{};    ///< The CPUs that it is attached to, as a list.
    std::string driver{};  ///< Its driver's.
    CopySpeed copies{};    ///< All 0: not measured.
};

/// What a rank sees of its place. Plain data: texts are escaped, CPUs in the kernel's list form.
struct RankFacts {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;  ///< The first rank there: the same for all ranks of a node.
    std::string host{};

    std::string mask{};               ///< The launcher's.
    std::string allowed{};            ///< What the cgroup allows; holds the mask.
    std::uint32_t mask_cpus = 0;      ///< CPUs in it.
    std::uint32_t mask_cores = 0;     ///< Cores in it.
    std::uint32_t allowed_cores = 0;  ///< Cores in `allowed`.
    std::uint32_t machine_cpus = 0;   ///< Of its node, online; 0: not known.
    std::uint32_t job_cpus = 0;       ///< That Slurm gave the job on its node; 0: not known.
    std::uint32_t quota_cpus = 0;     ///< What the cgroup's quota is worth; 0: no limit.
    std::uint32_t own_cores = 0;      ///< That it can keep busy.
    bool has_own_cores = true;
    std::uint32_t threads = 1;     ///< That should have a core each.
    std::string why_unbindable{};  ///< Empty: threads can be tied.

    std::vector<GpuFacts> gpus{};        ///< That it drives.
    std::vector<std::string> seen{};     ///< The ids of all that it sees.
    std::uint32_t machine_gpus = 0;      ///< On the bus of its node.
    std::string why_no_cuda{};           ///< Empty: CUDA shows GPUs.
    std::uint64_t locked_bytes = 0;      ///< RLIMIT_MEMLOCK; UINT64_MAX: no limit.
    std::uint64_t memory_bytes = 0;      ///< The node's for the job, as far as is known; UINT64_MAX: not known.
    MpiTransport transport{};            ///< Empty without MPI.
    std::vector<std::string> fabrics{};  ///< InfiniBand and its like, on its node.
    double clock_error_seconds = 0;      ///< Its time is known within ± this.
    double wall_ahead_seconds = 0;       ///< Its wall clock, before rank 0's.
    bool sees_output = true;             ///< The folder of rank 0; true also where nobody looked.
    ErrorText failure{};                 ///< What kept it from looking at all of this; id empty: nothing.
    int failure_code = 0;
};

/// The folder that rank 0 writes to.
struct OutputFacts {
    std::string folder{};       ///< Escaped.
    std::string file_system{};  ///< "tmpfs", "nfs"; empty: one of no note.
    bool in_memory = false;     ///< Gone with the node.
    std::string why_not{};      ///< Why nothing can be written there; empty: it can.
    std::uint64_t free_bytes = 0;
    std::uint64_t free_files = UINT64_MAX;  ///< UINT64_MAX: not counted.
};

/// What the job, or the defaults without one, ask of a node.
struct JobWish {
    DeviceKind device = DeviceKind::automatic;
    std::optional<std::uint32_t> devices{};  ///< That each rank drives.
    BindMode bind = BindMode::gpu_local;
    std::optional<std::uint32_t> ranks_per_node{};  ///< Of [layout], where it names a number; likewise the next two.
    std::optional<std::uint32_t> cpus_per_rank{};
    std::uint32_t gpus_per_node = 0;
};

struct DoctorFacts {
    Launch launch{};                      ///< Rank 0's.
    std::optional<SlurmVersion> slurm{};  ///< nullopt: no Slurm, or it does not say.
    std::uint32_t world = 1;              ///< Ranks that MPI knows; 0: it was not asked.
    JobWish wish{};
    DeviceKind device = DeviceKind::host;  ///< That the ranks would compute on.
    std::vector<RankFacts> ranks{};        ///< In their order; some, where singletons keep the others from speaking.
    std::vector<LinkSpeed> links{};        ///< Empty: not measured.
    std::optional<OutputFacts> output{};   ///< Without a job there is none.
};

/// For the way to rank 0.
[[nodiscard]] std::string encode(const RankFacts& facts);
[[nodiscard]] RankFacts decode_rank_facts(const std::string& text);

}  // namespace sluice
