#pragma once

#include <string>

#include "core/app.hpp"
#include "core/commit/run_folder.hpp"

namespace sluice {

/// A run named by the user, with its folders held open.
struct NamedRun {
    RunPaths paths;
    RunFolders folders;
};

/// Finds a run by its folder, its output, its job file (of one of `apps`) or its Slurm job's number, in order to modify
/// it. Throws Error: no_input (E-RUN-116) if there is none, refused (E-SEC-020) if it is another user's.
[[nodiscard]] NamedRun named_run(const std::string& name, const Apps& apps);

/// The same for reading; it may be another user's.
[[nodiscard]] NamedRun named_run_to_read(const std::string& name, const Apps& apps);

}  // namespace sluice
