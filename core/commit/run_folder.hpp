#pragma once

#include <optional>
#include <string>

#include "core/commit/held_folder.hpp"
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

}  // namespace sluice
