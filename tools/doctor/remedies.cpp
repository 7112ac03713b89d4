#include "tools/doctor/remedies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr SlurmVersion step_inherits_no_cpus{22, 5};  // since then srun ignores the job's --cpus-per-task
constexpr SlurmVersion has_tres_bind{24, 5};          // and replaces --gpu-bind by it

/// The command again, under `launcher`, which stands there with its options.
std::string under(std::string_view launcher) {
    return fmt::format("{} {} …", launcher, program_name());
}

}  // namespace

std::string Remedies::meet() const {
    return by_mpirun() ? "start it with the mpirun of the MPI that it was built with" : under("srun --mpi=pmix");
}

std::string Remedies::start_all(std::uint32_t tasks) const {
    return by_slurm()    ? under(fmt::format("srun --mpi=pmix --ntasks={}", tasks))
           : by_mpirun() ? under(fmt::format("mpirun -n {}", tasks))
                         : fmt::format("start {} ranks", tasks);
}

std::string Remedies::all_nodes(std::uint32_t nodes) const {
    return by_mpirun() ? under("mpirun --map-by node") : under(fmt::format("srun --mpi=pmix --nodes={}", nodes));
}

std::string Remedies::cpus_per_rank(std::uint32_t cpus, std::uint32_t ranks) const {
    if (by_mpirun()) {
        return under(fmt::format("mpirun --map-by ppr:{}:node:pe={}", ranks, cpus));
    }
    if (!by_slurm()) {
        return fmt::format("let the process run on {} CPUs (taskset, the cgroup's cpuset)", cpus);
    }
    if (version_ && *version_ < step_inherits_no_cpus) {
        return fmt::format("#SBATCH --cpus-per-task={}", cpus);
    }
    return fmt::format("#SBATCH --cpus-per-task={0}, and srun --cpus-per-task={0}, which does not inherit it", cpus);
}

std::string Remedies::ranks_per_node(std::uint32_t ranks) const {
    return by_slurm()    ? fmt::format("#SBATCH --ntasks-per-node={}", ranks)
           : by_mpirun() ? under(fmt::format("mpirun --map-by ppr:{}:node", ranks))
                         : fmt::format("start {} ranks per node", ranks);
}

std::string Remedies::no_mask() const {
    return by_slurm()    ? "srun --cpu-bind=none"
           : by_mpirun() ? under("mpirun --bind-to none")
                         : "start it without taskset";
}

std::string Remedies::whole_node() const {
    return in_slurm_ ? "#SBATCH --exclusive" : "give the job's cgroup the whole node";
}

std::string Remedies::confinement() {
    return "#SBATCH --exclusive; or layout.bind = \"inherit\" and run.devices; or, for all jobs, "
           "TaskPlugin=task/cgroup or task/affinity in slurm.conf";
}

std::string Remedies::gpus_per_node(std::uint32_t gpus) const {
    return in_slurm_ ? fmt::format("#SBATCH --gpus-per-node={}", gpus)
                     : "give the job GPUs, and look at CUDA_VISIBLE_DEVICES";
}

std::string Remedies::no_gpu_binding(std::uint32_t gpus) const {
    if (!in_slurm_) {
        return "let CUDA_VISIBLE_DEVICES name all GPUs of the node in every rank";
    }
    // --gpu-bind=none does not undo it in 22.05, and belongs to another option since 24.05.
    const std::string instead =
        fmt::format("#SBATCH --gpus-per-node={} in place of --gpus-per-task and --gpu-bind", gpus);
    return version_ && *version_ >= has_tres_bind ? instead + ", or srun --tres-bind=gres/gpu:none" : instead;
}

std::string Remedies::gpus_of_one_model() const {
    return in_slurm_ ? "#SBATCH --gpus-per-node=TYPE:N (`sinfo -o %G` lists the types)"
                     : "let CUDA_VISIBLE_DEVICES name GPUs of one model";
}

std::string Remedies::unlock_memory() const {
    return in_slurm_ ? "#SBATCH --propagate=NONE, which takes the node's own limits (LimitMEMLOCK of slurmd)"
                     : "ulimit -l unlimited";
}

std::string Remedies::exclude(std::span<const std::string> hosts) const {
    return in_slurm_ ? fmt::format("#SBATCH --exclude={}", fmt::join(hosts, ","))
                     : fmt::format("exclude {}", fmt::join(hosts, ", "));
}

std::string Remedies::variable(const std::string& name, const std::string& value) const {
    return by_mpirun() ? under(fmt::format("mpirun -x {}={}", name, value)) : fmt::format("export {}={}", name, value);
}

}  // namespace sluice
