#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/commit/held_folder.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/run_identity.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// A run's folders, held open: the run stays in the folders that were checked, even if these are renamed.
struct RunFolders {
    HeldFolder published;  ///< Where the output appears.
    HeldFolder run;        ///< The run's own.

    /// The name of the run's owner; empty: this user.
    [[nodiscard]] std::string foreign_owner() const;
};

/// Creates the run's own folder, and the folder of parts if the output is one, unless they exist. Throws Error:
/// cannot_create (E-OUT-022) if something that was not made by a run is in the output's place; refused (E-SEC-020) if a
/// folder is a link, not a folder, or another user's, or if others may write to the run's own.
[[nodiscard]] RunFolders make_run_folder(const RunPaths& paths);

/// The folders of an existing run, for modifying it. Throws Error (refused, E-SEC-020) like make_run_folder.
[[nodiscard]] RunFolders open_run_folder(const RunPaths& paths);

/// The same for reading: they may be any user's.
[[nodiscard]] RunFolders open_run_folder_to_read(const RunPaths& paths);

/// The same as make_run_folder, but creates nothing; nullopt: the run's own folder does not exist.
[[nodiscard]] std::optional<RunFolders> find_run_folder(const RunPaths& paths);

/// For a run folder without an identity, made by a submission or an attempt that ended at once, which thus does not
/// vouch for a file beside it: throws Error (cannot_create, E-OUT-022) if there is one.
void refuse_foreign_file_beside(const RunPaths& paths);

/// Throws Error (cannot_create, E-OUT-024) if the complete output there is not of `identity`.
void check_same_job(const RunPaths& paths, const RunIdentity& identity);

/// Throws Error (cannot_create, E-OUT-026) if the output, `output_bytes` long (0: unknown), does not fit; several parts
/// of one file need twice the space when they are assembled. Only before the first attempt: later ones have a part of
/// it.
void check_space(const RunPaths& paths, const PartPlan& plan, std::uint64_t output_bytes);

}  // namespace sluice
