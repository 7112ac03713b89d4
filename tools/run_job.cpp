#include "tools/run_job.hpp"

#include "core/error.hpp"

namespace sluice {

int run(const std::filesystem::path& job_file, std::span<const Override>, const RunOptions&) {
    throw Error(ExitCode::unavailable, {"E-RUN-001", escaped(job_file.native()), "this build cannot run jobs", {}});
}

}  // namespace sluice
