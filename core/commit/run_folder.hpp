#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/commit/held_folder.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/run_identity.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// A run's folders, held open: whatever becomes of their names meanwhile, the run stays in the ones that were checked.
struct RunFolders {
    HeldFolder published;  ///< Where the output appears.
    HeldFolder run;        ///< The run's own.

    /// The name of the run's owner; empty: this user.
    [[nodiscard]] std::string foreign_owner() const;
};

/// Makes the run's own folder, and the folder of parts if the output is one, where they are not there yet. Throws
/// Error: cannot_create (E-OUT-022) when something that no run has made lies where the output goes, refused (E-SEC-020)
/// when a folder is a link, no folder, or another user's, or others may write to the run's.
[[nodiscard]] RunFolders make_run_folder(const RunPaths& paths);

/// The folders of a run that is there, to work with it: throws Error (refused, E-SEC-020) like make_run_folder.
[[nodiscard]] RunFolders open_run_folder(const RunPaths& paths);

/// The same to read: they may be anybody's.
[[nodiscard]] RunFolders open_run_folder_to_read(const RunPaths& paths);

/// nullopt: the run's own folder is not there. Else throws as make_run_folder, and makes nothing.
[[nodiscard]] std::optional<RunFolders> find_run_folder(const RunPaths& paths);

/// A run folder without an identity was made by an attempt that ended at once, or by a submission: it says nothing
/// about what lies beside it. Throws Error (cannot_create, E-OUT-022) when that is a file.
void refuse_foreign_file_beside(const RunPaths& paths);

/// Throws Error (cannot_create, E-OUT-024) when the complete output that lies there is not of `identity`.
void check_same_job(const RunPaths& paths, const RunIdentity& identity);

/// Throws Error (cannot_create, E-OUT-026) when `output_bytes`, 0 for an unknown number, do not fit. Only before the
/// first attempt: later ones have some of it. Several parts of one file are put together at the end.
void check_space(const RunPaths& paths, const PartPlan& plan, std::uint64_t output_bytes);

}  // namespace sluice
