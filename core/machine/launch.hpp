#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.hpp"

namespace sluice {

enum class Launcher : std::uint8_t {
    none,
    srun,
    mpirun,   ///< Open MPI's.
    manager,  ///< Another process manager with PMI or PMIx.
};

/// How this process was started, according to its environment.
struct Launch {
    Launcher launcher = Launcher::none;
    std::uint32_t tasks = 1;                       ///< Processes started together.
    std::uint32_t number = 0;                      ///< This process's number among them.
    bool on_one_node = true;                       ///< All tasks run on one node, as far as the launcher says.
    bool has_manager = false;                      ///< A process manager from which MPI can learn of the others.
    std::string evidence{};                        ///< Source of `tasks`: "SLURM_STEP_NUM_TASKS=4"; escaped.
    std::optional<std::string> slurm_job{};        ///< Its number; escaped.
    std::optional<std::uint32_t> batch_tasks{};    ///< Outside of a job step: tasks that fit into the job.
    std::uint32_t nodes = 0;                       ///< Of the Slurm job; 0: unknown.
    std::uint32_t cpus_on_node = 0;                ///< CPUs of the Slurm job on this node; 0: unknown.
    std::optional<std::uint32_t> cpus_per_task{};  ///< As the job requested; srun may have given fewer.

    /// Whether an earlier mpirun left its variables: the one that starts a process sets a process manager's, too.
    [[nodiscard]] bool is_left_over() const { return launcher == Launcher::mpirun && tasks > 1 && !has_manager; }

    /// Whether this is certainly one of several and not the first, which alone reports what happens to all of them.
    [[nodiscard]] bool is_other_rank() const { return tasks > 1 && number > 0 && !is_left_over(); }

    /// Whether there may be other processes; MPI knows.
    [[nodiscard]] bool may_have_others() const { return has_manager || tasks > 1; }
};

/// A variable's value; nullopt: not set.
using Environment = std::function<std::optional<std::string>(const char*)>;

[[nodiscard]] std::optional<std::string> own_variable(const char* name);  ///< Of this process.

[[nodiscard]] Launch read_launch(const Environment& environment);
[[nodiscard]] Launch read_launch();  ///< Of this process.

/// An error (E-SLM-073) if several processes were started that do not know of each other, so that each would do the
/// whole job; nullopt if they do, or if it is not known yet. `world`: size of MPI_COMM_WORLD; nullopt: MPI was not
/// started, because Open MPI ends a process that Slurm started without PMIx.
[[nodiscard]] std::optional<ErrorText> find_singletons(const Launch& launch, std::optional<std::uint32_t> world);

}  // namespace sluice
