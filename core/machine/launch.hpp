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
    manager,  ///< Another one that speaks PMI or PMIx.
};

/// How this process was started, by its environment.
struct Launch {
    Launcher launcher = Launcher::none;
    std::uint32_t tasks = 1;                       ///< Processes that were started together.
    std::uint32_t number = 0;                      ///< Of this one among them.
    bool on_one_node = true;                       ///< All of them, as far as the launcher says.
    bool has_manager = false;                      ///< Somebody whom MPI can ask for the other processes.
    std::string evidence{};                        ///< Where `tasks` comes from: "SLURM_STEP_NUM_TASKS=4"; escaped.
    std::optional<std::string> slurm_job{};        ///< Its number; escaped.
    std::optional<std::uint32_t> batch_tasks{};    ///< Outside of a step: tasks that the job has room for.
    std::uint32_t nodes = 0;                       ///< Of the Slurm job; 0: not known.
    std::uint32_t cpus_on_node = 0;                ///< That Slurm gave the job on this node; 0: not known.
    std::optional<std::uint32_t> cpus_per_task{};  ///< That the job asked for; srun may have given fewer.

    /// Whether this is surely one of several, and not the first: what they all meet alike, the first one says.
    [[nodiscard]] bool is_other_rank() const { return tasks > 1 && number > 0; }

    /// Whether there may be other processes, which MPI knows.
    [[nodiscard]] bool may_have_others() const { return has_manager || tasks > 1; }
};

/// A variable's value; nullopt: not set.
using Environment = std::function<std::optional<std::string>(const char*)>;

[[nodiscard]] std::optional<std::string> own_variable(const char* name);  ///< Of this process.

[[nodiscard]] Launch read_launch(const Environment& environment);
[[nodiscard]] Launch read_launch();  ///< Of this process.

/// Several processes that are each alone, so that all of them would do the whole job (E-SLM-073). `world`: what MPI
/// says; nullopt: it has not been asked, for Open MPI ends a process that Slurm started without PMIx. nullopt: they
/// know of each other, or it cannot be told yet.
[[nodiscard]] std::optional<ErrorText> find_singletons(const Launch& launch, std::optional<std::uint32_t> world);

}  // namespace sluice
