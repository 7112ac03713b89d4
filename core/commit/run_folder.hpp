#pragma once

#include "core/commit/run_paths.hpp"

namespace sluice {

/// Makes the run's own folder, and the folder of parts if the output is one, where they are not there yet. Throws
/// Error: cannot_create (E-OUT-022) when something that no run has made lies where the output goes, refused (E-SEC-020)
/// when the run's folder is a link, no folder, or another user's.
void make_run_folder(const RunPaths& paths);

/// Whether the run's own folder is there; throws as make_run_folder, and makes nothing.
[[nodiscard]] bool has_run_folder(const RunPaths& paths);

/// A run folder without an identity was made by an attempt that ended at once, or by a submission: it says nothing
/// about what lies beside it. Throws Error (cannot_create, E-OUT-022) when that is a file.
void refuse_foreign_file_beside(const RunPaths& paths);

}  // namespace sluice
