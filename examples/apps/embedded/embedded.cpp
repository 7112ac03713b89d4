// A program with a command line of its own that runs a job: embedded JOB.toml OUTPUT, alone or as ranks of mpirun or
// srun.
#include <cstdio>

#include "apps/registry.hpp"
#include "core/error.hpp"
#include "core/process/standard_error.hpp"
#include "tools/runtime/run_job.hpp"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: embedded JOB.toml OUTPUT\n", stderr);
        return static_cast<int>(sluice::ExitCode::usage);
    }
    const auto job = [&] {  // called by rank 0 only
        return sluice::JobFile{.path = argv[1], .overrides = {{.key = "output.path", .value = argv[2]}}};
    };
    try {
        return sluice::run(job, sluice::standard_apps(), {.quiet = true});
    } catch (const sluice::Error& error) {
        sluice::say(error.text());
        return static_cast<int>(error.code());
    }
}
