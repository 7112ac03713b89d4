#pragma once

#include <string>

#include "core/app.hpp"
#include "core/commit/run_folder.hpp"

namespace sluice {

/// A run that a user names, its folders held open.
struct NamedRun {
    RunPaths paths;
    RunFolders folders;
};

/// The run that a user names by its own folder, its output, its job file (of one of `apps`), or its Slurm job's number,
/// to work with it.
/// Throws Error: no_input (E-RUN-116) when there is none, refused (E-SEC-020) when it is not this user's.
[[nodiscard]] NamedRun named_run(const std::string& name, const Apps& apps);

/// The same to read; it may be anybody's.
[[nodiscard]] NamedRun named_run_to_read(const std::string& name, const Apps& apps);

}  // namespace sluice
