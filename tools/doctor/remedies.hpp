#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/machine/launch.hpp"
#include "tools/doctor/facts.hpp"

namespace sluice {

/// The lines that fix a launch, for the launcher and, under Slurm, its version.
class Remedies {
public:
    explicit Remedies(const DoctorFacts& facts)
        : launcher_(facts.launch.launcher), in_slurm_(facts.launch.slurm_job.has_value()), version_(facts.slurm) {}

    /// MPI should know all tasks.
    [[nodiscard]] std::string meet() const;

    /// `tasks` ranks instead of fewer.
    [[nodiscard]] std::string start_all(std::uint32_t tasks) const;

    /// Ranks on all nodes of the job.
    [[nodiscard]] std::string all_nodes(std::uint32_t nodes) const;

    /// At least `cpus` per rank, with `ranks` per node.
    [[nodiscard]] std::string cpus_per_rank(std::uint32_t cpus, std::uint32_t ranks) const;

    /// `ranks` on each node.
    [[nodiscard]] std::string ranks_per_node(std::uint32_t ranks) const;

    /// All CPUs that the cgroup allows, instead of the launcher's mask.
    [[nodiscard]] std::string no_mask() const;

    /// CPUs or GPUs that the job was not allocated.
    [[nodiscard]] std::string whole_node() const;

    /// Cores of the job's own, where Slurm confines no job to its cores.
    [[nodiscard]] static std::string confinement();

    /// `gpus` per node, visible to all its ranks.
    [[nodiscard]] std::string gpus_per_node(std::uint32_t gpus) const;

    /// All of the job's GPUs on a node visible to every rank.
    [[nodiscard]] std::string no_gpu_binding(std::uint32_t gpus) const;

    [[nodiscard]] std::string gpus_of_one_model() const;

    /// Locked memory without limit.
    [[nodiscard]] std::string unlock_memory() const;

    /// Exclude nodes `hosts`.
    [[nodiscard]] std::string exclude(std::span<const std::string> hosts) const;

    /// Set a variable on all ranks.
    [[nodiscard]] std::string variable(const std::string& name, const std::string& value) const;

private:
    [[nodiscard]] bool by_slurm() const { return launcher_ == Launcher::srun || (in_slurm_ && !by_mpirun()); }
    [[nodiscard]] bool by_mpirun() const { return launcher_ == Launcher::mpirun; }

    Launcher launcher_;
    bool in_slurm_;
    std::optional<SlurmVersion> version_;
};

}  // namespace sluice
