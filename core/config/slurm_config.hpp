#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/modes.hpp"

namespace sluice {

enum class GpuRequest : std::uint8_t { gpus_per_node, gres, none };
template <>
inline constexpr std::array<std::string_view, 3> words_of<GpuRequest>{"gpus-per-node", "gres", "none"};

enum class JobLauncher : std::uint8_t { srun, mpirun };
template <>
inline constexpr std::array<std::string_view, 2> words_of<JobLauncher>{"srun", "mpirun"};

/// What follows an attempt that stopped early.
enum class ResumeMode : std::uint8_t {
    requeue,     ///< The job itself is queued again.
    dependency,  ///< A new job, which waits for this one's end: where a site forbids requeue.
    manual,      ///< Nothing: the user submits again.
};
template <>
inline constexpr std::array<std::string_view, 3> words_of<ResumeMode>{"requeue", "dependency", "manual"};

/// What the job file says of Slurm: sections [slurm] and [slurm.resume]. Names hold no character that a shell or
/// sbatch would take for more than itself; an empty one is not passed on.
struct SlurmConfig {
    std::string job_name = "sluice";
    std::string partition{};
    std::string account{};
    std::string qos{};
    std::string constraint{};
    std::string reservation{};
    std::string nodelist{};
    std::string exclude{};
    std::string mail_user{};
    std::string mail_type{};
    std::optional<std::chrono::seconds> time{};  ///< nullopt: the partition's.
    std::uint32_t nodes = 1;
    bool exclusive = true;
    GpuRequest gpu_request = GpuRequest::gpus_per_node;
    std::string gpu_type{};
    JobLauncher launcher = JobLauncher::srun;
    std::string mpi = "pmix";
    std::string mem = "site";  ///< "site": nothing is asked for.
    bool comment = true;
    std::vector<std::string> environment{};  ///< Names of variables that the job gets besides ours.
    std::vector<std::string> skip{};         ///< Options of sbatch that are never passed, without dashes.
    std::vector<std::string> extra{};        ///< Whole options of sbatch, "--switches=1".

    struct Resume {
        ResumeMode mode = ResumeMode::requeue;
        std::uint32_t most = 3;                        ///< Attempts after the first; "max" in the job file.
        std::optional<std::chrono::seconds> notice{};  ///< Before the time limit; nullopt: see notice_of.
        friend bool operator==(const Resume&, const Resume&) = default;
    };
    Resume resume{};
    friend bool operator==(const SlurmConfig&, const SlurmConfig&) = default;
};

/// Slurm sends --signal up to so much earlier than asked for (sbatch(1)).
inline constexpr std::chrono::seconds signal_precision{60};

/// How long before the time limit Slurm is to signal the job; nullopt: not at all. Rank 0 knows the end of the job's
/// time by itself, so that this is for the case that Slurm does not tell it: by default it never costs more than a
/// tenth of the time, precision included, and where it would, or where the time is not known, there is none.
[[nodiscard]] std::optional<std::chrono::seconds> notice_of(const SlurmConfig& slurm);

/// What to tell a user whose notice leaves little of the job's time: more than a quarter of it may be lost. Empty:
/// nothing.
[[nodiscard]] std::string problem_with_notice(const SlurmConfig& slurm);

}  // namespace sluice
