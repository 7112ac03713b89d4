#include <fmt/format.h>

#include <optional>

#include "comm/mpi_session.hpp"
#include "core/json_types.hpp"
#include "core/machine/provenance.hpp"
#include "core/process/standard_error.hpp"
#include "core/stage_error.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/gather.hpp"
#include "tools/doctor/report.hpp"
#include "tools/runtime/job_plan.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobConfig::Layout, bind, gpus_per_node, ranks_per_node, cpus_per_rank)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobWish, device, devices, precision, layout)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Examination, wish, device)

namespace {

/// From the job file, if there is one.
Examination read_examination(const ParsedArguments& parsed) {
    Examination job;
    if (const std::optional<JobConfig> config = job_of(parsed)) {
        job.wish = wish_of(*config);
        job.output = config->output.path;
    }
    job.device = choose_device(job.wish.device);
    return job;
}

/// Broadcasts what rank 0 reads for all ranks; nullopt if it fails, after its message and with its code.
std::optional<Examination> agree(MpiSession* session, const ParsedArguments& parsed, std::int64_t& code) {
    if (session == nullptr) {
        return read_examination(parsed);
    }
    std::optional<Examination> job;
    if (session->rank() == 0) {
        try {
            job = read_examination(parsed);
        } catch (const Error& error) {
            say(error.text());
            code = static_cast<std::int64_t>(error.code());
        }
    }
    session->broadcast_number(code);
    if (code != 0) {
        return std::nullopt;
    }
    std::string text = job ? packed(*job) : std::string();
    session->broadcast(text);
    return job ? job : unpacked<Examination>(text);
}

int print_report(const DoctorFacts& facts, bool json) {
    const std::vector<Finding> findings = diagnose(facts);
    print(json ? doctor_json(facts, findings) : doctor_text(facts, findings));
    return static_cast<int>(code_of(findings));
}

int examine(MpiSession* session, const ParsedArguments& parsed) {
    std::int64_t code = 0;
    const std::optional<Examination> job = agree(session, parsed, code);
    if (!job) {
        return static_cast<int>(code);
    }
    DoctorFacts facts = gather_facts(session, *job);
    if (session == nullptr || session->rank() == 0) {
        facts.slurm = facts.launch.slurm_job ? read_slurm_version() : std::nullopt;
        code = print_report(facts, parsed.has("json"));
    }
    if (session != nullptr) {
        session->broadcast_number(code);
    }
    return static_cast<int>(code);
}

/// Each process is a singleton, and MPI would end it: one of them reports it.
int report_singletons(const Launch& launch, bool json) {
    DoctorFacts facts{.launch = launch, .slurm = launch.slurm_job ? read_slurm_version() : std::nullopt, .world = 0};
    return launch.is_other_rank() ? static_cast<int>(code_of(diagnose(facts))) : print_report(facts, json);
}

int run_doctor(const ParsedArguments& parsed) {
    const Launch launch = read_launch();
    if (find_singletons(launch, std::nullopt)) {
        return report_singletons(launch, parsed.has("json"));
    }
    if (!launch.may_have_others()) {
        return examine(nullptr, parsed);
    }
    MpiSession session;
    try {
        return examine(&session, parsed);
    } catch (...) {  // must not escape: the other ranks would wait for this one in MPI_Finalize forever
        const std::string who = fmt::format("rank {} on {}", session.rank(), host_name());
        const Failure failure = describe(std::current_exception(), who);
        say(failure.text);
        session.abort(failure.code);
    }
}

}  // namespace

const Command doctor_command{
    .name = "doctor",
    .synopsis = "[JOB.toml] [OPTION]...",
    .summary = "check an allocation, and say what to change before a run",
    .details =
        "Start it as the run will be started: under the same srun or mpirun, in the same job. Looks\n"
        "at the launch, cores, GPUs, memory, network, clocks and, with a job, at the output's folder;\n"
        "measures links and copies, which takes some tenths of a second. One line for each finding, with\n"
        "its fix. `{program} run` gives the same warnings by itself. docs/doctor.md explains them.",
    .exit_codes =
        "  0   no error, perhaps warnings    71  too little memory\n"
        "  64  wrong command line            73  nothing can be written to the output's folder\n"
        "  66  cannot open the job file      78  wrong job file, --set or launch\n"
        "  69  the device is missing",
    .example = "  srun --mpi=pmix {program} doctor job.toml",
    .set_example = "run.devices=2",
    .json = true,
    .most_operands = 1,
    .run = run_doctor,
    .for_ranks = true,
};

}  // namespace sluice
