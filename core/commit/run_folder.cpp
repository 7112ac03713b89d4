#include "core/commit/run_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/input/checked.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr mode_t shared_mode = 0777;

[[noreturn]] void refuse_foreign(
    const std::filesystem::path& path, const std::string& what,
    const char* hint = "move it away, or choose another [output].path: existing files are never replaced") {
    throw Error(ExitCode::cannot_create,
                {.id = "E-OUT-022", .where = escaped(path.native()), .what = what, .hint = hint});
}

/// Nothing that this run has not made may be replaced, or be taken for a part of it. The output is looked at first: if
/// another attempt makes it now, it has made the run's folder before.
void refuse_foreign_files(const RunPaths& paths) {
    const auto there = status_of(paths.output);
    const bool is_folder = there && S_ISDIR(there->st_mode);
    const auto names = is_folder ? names_in_folder(paths.output) : std::vector<std::string>();
    if (!there || status_of(paths.run_folder())) {
        return;
    }
    if (paths.layout == OutputLayout::file) {
        refuse_foreign(paths.output, S_ISREG(there->st_mode) ? "exists already" : "already exists and is not a file");
    }
    if (S_ISLNK(there->st_mode)) {
        refuse_foreign(paths.output, "is a symbolic link (expected a folder or nothing)",
                       "name the folder that it leads to as [output].path");
    }
    if (!is_folder) {
        refuse_foreign(paths.output, "is not a folder, but its path ends in a slash");
    }
    if (!names.empty()) {
        refuse_foreign(paths.output, fmt::format("is not empty (has {}, the first is {})",
                                                 count_of(names.size(), "name"), quoted(names.front())));
    }
}

/// Access lists that a folder inherits may let more people in than its mode says. Where that cannot be changed, whoever
/// opens the folder tells.
void keep_others_out(const std::filesystem::path& folder) {
    const auto status = status_of(folder);
    if (status && (status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        const FilePlace place = FilePlace::entry(folder);
        [[maybe_unused]] const int result = ::fchmodat(place.base(), place.name(), private_folder, 0);
    }
}

RunFolders hold(const RunPaths& paths, FolderTrust of_parts, FolderTrust of_run) {
    const FolderTrust published = paths.layout == OutputLayout::folder ? of_parts : FolderTrust::any;
    return {.published = HeldFolder(paths.published_folder(), published),
            .run = HeldFolder(paths.run_folder(), of_run)};
}

/// The folder nearest to the run's own that is there already.
std::filesystem::path where_it_goes(const RunPaths& paths) {
    for (const std::filesystem::path& folder : {paths.run_folder(), paths.published_folder()}) {
        if (status_of(folder)) {
            return folder;
        }
    }
    return paths.output.parent_path();
}

}  // namespace

std::string RunFolders::foreign_owner() const {
    return run.owner() == ::geteuid() ? std::string() : user_name(run.owner());
}

RunFolders make_run_folder(const RunPaths& paths) {
    refuse_foreign_files(paths);
    // Synced also when they are there: whoever made them may have died before.
    if (paths.layout == OutputLayout::folder) {
        make_folder(paths.output, shared_mode);
        sync_folder(paths.output.parent_path());
    }
    const bool is_new = make_folder(paths.run_folder());
    try {
        if (is_new) {
            keep_others_out(paths.run_folder());
        }
        sync_folder(paths.run_folder().parent_path());
        return open_run_folder(paths);
    } catch (const Error&) {
        if (is_new) {
            static_cast<void>(remove_empty_folder(paths.run_folder()));
        }
        throw;
    }
}

RunFolders open_run_folder(const RunPaths& paths) {
    return hold(paths, FolderTrust::mine, FolderTrust::only_mine);
}

RunFolders open_run_folder_to_read(const RunPaths& paths) {
    return hold(paths, FolderTrust::any, FolderTrust::any);
}

std::optional<RunFolders> find_run_folder(const RunPaths& paths) {
    refuse_foreign_files(paths);
    return status_of(paths.run_folder()) ? std::optional(open_run_folder(paths)) : std::nullopt;
}

// Here too the output is looked at first.
void refuse_foreign_file_beside(const RunPaths& paths) {
    if (paths.layout == OutputLayout::file && status_of(paths.output) && !status_of(paths.identity())) {
        refuse_foreign(paths.output, "exists already");
    }
}

void check_same_job(const RunPaths& paths, const RunIdentity& identity) {
    const std::optional<RunIdentity> was = read_run_identity(paths);
    const std::vector<std::string> differing = was ? differences(*was, identity) : std::vector<std::string>();
    if (!was || !differing.empty()) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-024",
                     .where = escaped(paths.output.native()),
                     .what = was ? fmt::format("is the complete output of another job; differences: {}",
                                               fmt::join(differing, ", "))
                                 : "is complete, but its run's job.json is missing, so its job is unknown",
                     .hint = fmt::format("choose another [output].path, or remove it and {}",
                                         quoted(paths.run_folder().native()))});
    }
}

void check_space(const RunPaths& paths, const PartPlan& plan, std::uint64_t output_bytes) {
    const bool is_assembled = paths.layout == OutputLayout::file && plan.parts() > 1;
    const std::uint64_t bytes =
        checked_multiply(output_bytes, is_assembled ? 2 : 1).value_or(std::numeric_limits<std::uint64_t>::max());
    if (bytes == 0 || status_of(paths.attempts())) {
        return;  // unknown need: writing finds out
    }
    const std::uint64_t available = free_bytes(where_it_goes(paths));
    if (bytes > available) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-026",
                     .where = escaped(paths.output.native()),
                     .what = fmt::format("not enough space (need {} bytes, {} are free)", bytes, available),
                     .hint = "free space, or choose another file system"});
    }
}

}  // namespace sluice
