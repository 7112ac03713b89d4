#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/machine/launch.hpp"
#include "tools/doctor/slurm_version.hpp"

namespace sluice {

/// The lines that mend a launch, for the launcher and, under Slurm, for its version.
class Remedies {
public:
    Remedies(Launcher launcher, bool in_slurm, std::optional<SlurmVersion> version)
        : launcher_(launcher), in_slurm_(in_slurm), version_(version) {}

    /// So that MPI knows all tasks.
    [[nodiscard]] std::string meet() const;

    /// `tasks` ranks instead of fewer.
    [[nodiscard]] std::string start_all(std::uint32_t tasks) const;

    /// Ranks on all nodes of the job.
    [[nodiscard]] std::string all_nodes(std::uint32_t nodes) const;

    /// At least `cpus` for each of a node's `ranks`.
    [[nodiscard]] std::string cpus_a_rank(std::uint32_t cpus, std::uint32_t ranks) const;

    /// `ranks` on each node.
    [[nodiscard]] std::string ranks_a_node(std::uint32_t ranks) const;

    /// All CPUs that the cgroup allows, instead of the launcher's mask.
    [[nodiscard]] std::string no_mask() const;

    /// CPUs or GPUs that the job does not have.
    [[nodiscard]] std::string whole_node() const;

    /// GPUs of each node, for all its ranks to see.
    [[nodiscard]] std::string gpus_a_node(std::uint32_t gpus) const;

    /// Every rank sees all GPUs that the node has for the job.
    [[nodiscard]] std::string no_gpu_binding(std::uint32_t gpus) const;

    [[nodiscard]] std::string gpus_of_one_model() const;

    /// Locked memory without limit.
    [[nodiscard]] std::string unlock_memory() const;

    /// Without the nodes named.
    [[nodiscard]] std::string exclude(std::span<const std::string> hosts) const;

    /// A variable for all ranks.
    [[nodiscard]] std::string variable(const std::string& name, const std::string& value) const;

private:
    [[nodiscard]] bool by_slurm() const { return launcher_ == Launcher::srun || (in_slurm_ && !by_mpirun()); }
    [[nodiscard]] bool by_mpirun() const { return launcher_ == Launcher::mpirun; }

    Launcher launcher_;
    bool in_slurm_;
    std::optional<SlurmVersion> version_;
};

}  // namespace sluice
