#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi_links.hpp"
#include "comm/mpi_transport.hpp"
#include "core/config/config.hpp"
#include "core/device/copy_speed.hpp"
#include "core/machine/launch.hpp"

namespace sluice {

/// A GPU that a rank drives.
struct GpuFacts {
    std::string id{};
    std::string pci{};   ///< Empty: unknown.
    std::string name{};  ///< "NVIDIA H200"; may be empty.
    bool is_near = true;
    std::string near{};    ///< CPUs that it is attached to, as a list.
    std::string driver{};  ///< CPUs that its driver runs on, likewise.
    CopySpeed copies{};    ///< All 0: not measured.
};

/// What a rank knows about its place. Plain data: texts are escaped, CPUs in the kernel's list format.
struct RankFacts {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;  ///< First rank of its node, which identifies the node.
    std::string host{};

    std::string mask{};               ///< Set by the launcher.
    std::string allowed{};            ///< By the cgroup; a superset of the mask.
    std::uint32_t mask_cpus = 0;      ///< CPUs in `mask`.
    std::uint32_t mask_cores = 0;     ///< Cores in `mask`.
    std::uint32_t allowed_cores = 0;  ///< Cores in `allowed`.
    std::uint32_t machine_cpus = 0;   ///< Online on its node; 0: unknown.
    std::uint32_t job_cpus = 0;       ///< Allocated to the job on its node by Slurm; 0: unknown.
    std::uint32_t quota_cpus = 0;     ///< The cgroup's quota in CPUs; 0: no limit.
    std::uint32_t own_cores = 0;      ///< Cores that it can keep busy.
    bool has_own_cores = true;
    std::uint32_t threads = 1;     ///< Threads that should have their own core.
    std::string instructions{};    ///< CPU instructions of its host devices: "avx512"; empty: unknown.
    std::string why_unbindable{};  ///< Empty: threads can be bound.

    std::vector<GpuFacts> gpus{};                 ///< GPUs that it drives.
    std::vector<std::string> seen{};              ///< Ids of all visible GPUs.
    std::uint32_t machine_gpus = 0;               ///< GPUs on its node's bus.
    std::string why_no_cuda{};                    ///< Empty: CUDA works and shows GPUs.
    std::optional<std::uint64_t> locked_bytes{};  ///< RLIMIT_MEMLOCK; nullopt: no limit.
    std::optional<std::uint64_t> memory_bytes{};  ///< The node's memory for the job; nullopt: unknown.
    MpiTransport transport{};                     ///< Empty without MPI.
    std::vector<std::string> fabrics{};           ///< InfiniBand and similar adapters of its node.
    double clock_error_seconds = 0;               ///< Its clock offset is known within ± this.
    double wall_ahead_seconds = 0;                ///< Its wall clock minus rank 0's.
    bool sees_output = true;                      ///< Whether it sees rank 0's output folder; also true if not checked.
    ErrorText failure{};                          ///< Why it could not gather all facts; empty id: it could.
    int failure_code = 0;
};

/// The folder that rank 0 writes to.
struct OutputFacts {
    std::string folder{};       ///< Escaped.
    std::string file_system{};  ///< "tmpfs", "nfs"; empty: nothing special.
    bool in_memory = false;     ///< Lost with the node.
    std::string why_not{};      ///< Why it is not writable; empty: it is.
    std::uint64_t free_bytes = 0;
    std::uint64_t free_files = UINT64_MAX;  ///< UINT64_MAX: unknown.
};

/// Requirements of the job, or the defaults without one, of a node.
struct JobWish {
    DeviceKind device = DeviceKind::automatic;
    std::optional<std::uint32_t> devices{};  ///< Per rank.
    Precision precision = Precision::fp32;
    JobConfig::Layout layout{};
};

[[nodiscard]] inline JobWish wish_of(const JobConfig& job) {
    return {.device = job.run.device, .devices = job.run.devices, .precision = job.run.precision, .layout = job.layout};
}

/// "23.02": the two numbers that identify a release's features.
struct SlurmVersion {
    int year = 0;
    int month = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
    friend auto operator<=>(const SlurmVersion&, const SlurmVersion&) = default;

    [[nodiscard]] std::string text() const;
};

struct DoctorFacts {
    Launch launch{};                      ///< Of rank 0.
    std::optional<SlurmVersion> slurm{};  ///< nullopt: no Slurm, or unknown.
    std::uint32_t world = 1;              ///< Ranks known to MPI; 0: not queried.
    JobWish wish{};
    DeviceKind device = DeviceKind::host;  ///< Device that the ranks would use.
    std::vector<RankFacts> ranks{};        ///< In rank order; incomplete if the processes are singletons.
    std::vector<LinkSpeed> links{};        ///< Empty: not measured.
    std::optional<OutputFacts> output{};   ///< nullopt without a job.

    /// The job's; without its numbers where neither Slurm nor a launcher has started the run, as on a laptop: nobody
    /// was asked for them.
    [[nodiscard]] JobConfig::Layout requested_layout() const {
        JobConfig::Layout layout = wish.layout;
        if (launch.launcher == Launcher::none && !launch.slurm_job && !launch.may_have_others()) {
            layout.gpus_per_node = 0;
            layout.ranks_per_node = {};
            layout.cpus_per_rank = {};
        }
        return layout;
    }
};

/// For transfer to rank 0.
[[nodiscard]] std::string encode(const RankFacts& facts);
[[nodiscard]] RankFacts decode_rank_facts(const std::string& text);

}  // namespace sluice
