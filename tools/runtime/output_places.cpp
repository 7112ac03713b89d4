#include "tools/runtime/output_places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "core/commit/file.hpp"
#include "core/commit/run_paths.hpp"
#include "core/error.hpp"
#include "core/output/output_file.hpp"
#include "core/paths.hpp"
#include "scheduler/report.hpp"

namespace sluice {
namespace {

using Path = std::filesystem::path;

constexpr std::size_t longest_report = std::size_t{256} << 20;  // some KiB per rank
constexpr std::size_t report_start_bytes = 4096;
constexpr std::size_t manifest_start_bytes = 4096;

/// Throws Error (cannot_create) when the parent folder of `path`, the value of `key`, is missing or not writable.
void check_folder_of(const std::filesystem::path& path, std::string_view key) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (::access((folder / "").c_str(), W_OK | X_OK) != 0) {  // the trailing slash requires a folder
        const int code = errno;
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-021",
                     .where = escaped(path.native()),
                     .what = fmt::format("cannot write in {}: {}", quoted(folder.native()), system_text(code)),
                     .hint = code == ENOENT ? hint_for_missing("create the folder first", folder)
                                            : fmt::format("choose another {}", key)});
    }
}

[[noreturn]] void refuse(const Path& report, const std::string& what, ExitCode code = ExitCode::refused,
                         const char* id = "E-SEC-024") {
    throw Error(code,
                {.id = id, .where = escaped(report.native()), .what = what, .hint = "choose another output.report"});
}

/// Without links, dots and a trailing slash, as far as it exists.
Path plain(const Path& path) {
    std::error_code unknown;  // what cannot be examined is used as written
    const Path absolute = std::filesystem::absolute(path, unknown);
    Path whole = std::filesystem::weakly_canonical(absolute, unknown);
    if (unknown) {
        whole = absolute.lexically_normal();
    }
    return whole.has_filename() ? whole : whole.parent_path();
}

bool is_folder(const Path& path) {
    std::error_code missing;
    return std::filesystem::is_directory(path, missing);
}

/// Also if the names differ: folders can be mounted twice.
bool is_same_folder(const Path& one, const Path& other) {
    std::error_code missing;
    return one == other || (std::filesystem::equivalent(one, other, missing) && !missing);
}

bool has_manifest(const Path& folder) {
    const Path manifest = folder / manifest_name;
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(manifest, unknown))) {
        return false;
    }
    std::ifstream stream(manifest, std::ios::binary);  // an unreadable one protects no output of this user
    std::string start(manifest_start_bytes, '\0');
    stream.read(start.data(), static_cast<std::streamsize>(start.size()));
    return start.find("\"sluice manifest\"") != std::string::npos;
}

void refuse_run_folders(const Path& report, const Path& whole) {
    const auto is_of_run = [](const Path& name) { return name.native().ends_with(run_folder_suffix); };
    std::error_code unknown;
    for (const Path& path : {std::filesystem::absolute(report, unknown), whole}) {
        if (std::ranges::any_of(path, is_of_run)) {
            refuse(report, "lies in a run's folder, or has the name of one");
        }
    }
    if (is_folder(whole.native() + std::string(run_folder_suffix))) {
        refuse(report, "is the name of a run's output");
    }
}

void refuse_output_folders(const Path& report, const Path& whole, const Path& output) {
    const Path own = plain(output);
    const bool is_folder_of_parts = !output.has_filename();
    if (whole == own) {
        refuse(report, "is also the output");
    }
    const Path folder = whole.parent_path();
    const bool is_own = is_folder_of_parts && is_same_folder(folder, own);
    const bool is_beside_output = folder == own.parent_path();  // where the job writes anyway
    const bool is_of_another = is_folder(folder / run_folder_suffix) || has_manifest(folder);
    if (is_own || (is_of_another && !is_beside_output)) {
        refuse(report, fmt::format("lies in the folder of an output, {}", quoted(folder.native())));
    }
}

void refuse_other_files(const Path& report) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::symlink_status(report, unknown);
    if (status.type() == std::filesystem::file_type::none) {  // not even known to be missing: name too long
        refuse(report, "cannot be a file: " + unknown.message(), ExitCode::cannot_create, "E-OUT-021");
    }
    if (!std::filesystem::exists(status)) {
        return;
    }
    if (!std::filesystem::is_regular_file(status)) {
        const char* const kind = std::filesystem::is_directory(status) ? "a folder"
                                 : std::filesystem::is_symlink(status) ? "a symbolic link"
                                                                       : "a device or pipe";
        refuse(report, fmt::format("is {}, expected a file or nothing", kind), ExitCode::cannot_create, "E-OUT-021");
    }
    const auto begins_as_report = [&](std::size_t bytes) {
        const std::optional<std::string> text = read_text(report, bytes);
        return !text || is_report(*text);  // null: removed meanwhile
    };
    if (!begins_as_report(report_start_bytes) && !begins_as_report(longest_report)) {
        refuse(report, "already exists and is not a sluice report: only those may be replaced");
    }
}

}  // namespace

bool seems_published(const std::filesystem::path& output) {
    std::error_code unknown;  // a path that cannot be looked at is refused by others
    return std::filesystem::exists(run_paths(output, {}).manifest(), unknown);
}

void check_output_path(const std::filesystem::path& output) {
    if (output.has_filename()) {
        (void)OutputFile(output, "output.path");  // creates a file beside it, and removes it
    } else {
        check_folder_of(output.parent_path(), "output.path");
    }
}

void check_report_path(const Path& report, const Path& output) {
    const Path whole = plain(report.has_parent_path() ? report.parent_path() : Path(".")) / report.filename();
    refuse_run_folders(report, whole);
    refuse_output_folders(report, whole, output);
    refuse_other_files(report);
    check_folder_of(report, "output.report");
}

void refuse_to_replace_input_files(const JobConfig& job, const std::vector<Path>& files) {
    for (const Path& written : {job.output.path, job.output.report}) {
        struct stat output = {};
        if (::stat(written.c_str(), &output) != 0) {  // what is not there yet has no other name
            continue;
        }
        for (const Path& file : files) {
            struct stat input = {};
            if (::stat(file.c_str(), &input) == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
                refuse_to_replace(job, file, "input.path", [](std::string_view) { return std::string(); });
            }
        }
    }
}

void place_report(std::string_view text, const Path& report, const Path& output) {
    check_report_path(report, output);
    OutputFile file(report, "output.report");
    file.write(text);
    file.publish([&] { check_report_path(report, output); });
}

}  // namespace sluice
