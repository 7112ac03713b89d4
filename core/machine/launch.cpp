#include "core/machine/launch.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "core/text/parse.hpp"

namespace sluice {
namespace {

class Reader {
public:
    explicit Reader(const Environment& environment) : environment_(environment) {}

    [[nodiscard]] bool has(const char* name) const { return environment_(name).has_value(); }

    [[nodiscard]] std::string text(const char* name) const { return environment_(name).value_or(""); }

    [[nodiscard]] std::optional<std::uint32_t> number(const char* name) const {
        return parse_number<std::uint32_t>(text(name));
    }

private:
    const Environment& environment_;
};

/// Processes that mpirun starts have the variables of the step around mpirun, if there is one: its own count.
void read_launcher(Launch& launch, const Reader& reader) {
    const auto started_by = [&](Launcher launcher, const char* tasks, std::optional<std::uint32_t> number,
                                bool on_one_node) {
        launch.launcher = launcher;
        launch.tasks = reader.number(tasks).value_or(1);
        launch.evidence = fmt::format("{}={}", tasks, escaped(reader.text(tasks)));
        launch.number = number.value_or(0);
        launch.on_one_node = on_one_node;
    };
    const auto slurm_number = reader.number("SLURM_PROCID");
    if (const auto tasks = reader.number("OMPI_COMM_WORLD_SIZE")) {
        started_by(Launcher::mpirun, "OMPI_COMM_WORLD_SIZE", reader.number("OMPI_COMM_WORLD_RANK"),
                   reader.number("OMPI_COMM_WORLD_LOCAL_SIZE") == tasks);
    } else if (reader.number("SLURM_STEP_NUM_TASKS")) {
        started_by(Launcher::srun, "SLURM_STEP_NUM_TASKS", slurm_number, reader.number("SLURM_STEP_NUM_NODES") == 1);
    } else if (slurm_number > 0U) {  // a batch script is number 0
        started_by(Launcher::srun, "SLURM_NTASKS", slurm_number, reader.number("SLURM_NNODES") == 1);
    } else if (launch.has_manager) {
        const auto number = reader.number("PMIX_RANK");
        started_by(Launcher::manager, "PMI_SIZE", number ? number : reader.number("PMI_RANK"), false);
    }
}

/// Slurm's own PMIx would tell a step of one task of nobody else, and that only to the first program of the task that
/// starts MPI: a later one, as in `srun --pty bash`, would be ended.
bool is_alone_in_its_step(const Launch& launch, const Reader& reader) {
    return launch.launcher == Launcher::srun && launch.tasks == 1 && !reader.has("PMI_SIZE") &&
           reader.text("PMIX_NAMESPACE").starts_with("slurm.pmix.");
}

}  // namespace

std::optional<std::string> own_variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Launch read_launch(const Environment& environment) {
    const Reader reader(environment);
    Launch launch{.has_manager = reader.has("PMIX_RANK") || reader.has("PMI_RANK") || reader.has("PMI_SIZE"),
                  .slurm_job = environment("SLURM_JOB_ID")};
    read_launcher(launch, reader);
    launch.has_manager = launch.has_manager && !is_alone_in_its_step(launch, reader);
    if (launch.slurm_job) {
        launch.slurm_job = escaped(*launch.slurm_job);
        launch.nodes = reader.number("SLURM_JOB_NUM_NODES").value_or(0);
        launch.cpus_on_node = reader.number("SLURM_CPUS_ON_NODE").value_or(0);
        launch.cpus_per_task = reader.number("SLURM_CPUS_PER_TASK");
        if (launch.launcher != Launcher::srun) {
            launch.batch_tasks = reader.number("SLURM_NTASKS");
        }
    }
    return launch;
}

Launch read_launch() {
    return read_launch(own_variable);
}

std::optional<ErrorText> find_singletons(const Launch& launch, std::optional<std::uint32_t> world) {
    const bool is_unmanaged = launch.launcher == Launcher::srun && !launch.has_manager;
    const bool alone = world ? *world == 1 : is_unmanaged || launch.is_left_over();
    if (!alone || launch.tasks <= 1) {
        return std::nullopt;
    }
    if (launch.is_left_over()) {
        return ErrorText{
            .id = "E-SLM-073",
            .where = "launch",
            .what =
                fmt::format("{} is set as by an mpirun of {} tasks, but none has started this process (PMIX_RANK is "
                            "not set)",
                            launch.evidence, launch.tasks),
            .hint =
                "unset OMPI_COMM_WORLD_SIZE if an earlier mpirun left it; else start it with the mpirun of the MPI "
                "that it was built with"};
    }
    return ErrorText{
        .id = "E-SLM-073",
        .where = "launch",
        .what = fmt::format("{} tasks were started ({}), but {}", launch.tasks, launch.evidence,
                            world ? "MPI reports size 1 in each" : "without PMIx, so that each would be rank 0 of 1"),
        .hint = launch.launcher == Launcher::mpirun
                    ? "start it with the mpirun of the MPI that it was built with"
                    : "srun --mpi=pmix …; `srun --mpi=list` tells whether this Slurm has it"};
}

}  // namespace sluice
