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
#include "core/files/paths.hpp"
#include "core/output/output_file.hpp"
#include "scheduler/report.hpp"
#include "scheduler/trace_events.hpp"

namespace sluice {
namespace {

using Path = std::filesystem::path;

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

/// What a run writes beside its output.
struct Report {
    std::string_view key;
    std::string_view kind;
    bool (*is_one)(std::string_view text);  ///< Whether a file that begins so may be replaced.
    Path path;
};

Report report_of(const JobConfig::Output& output) {
    return {.key = "output.report", .kind = "sluice report", .is_one = &is_report, .path = output.report};
}

Report trace_of(const JobConfig::Output& output) {
    return {.key = "output.trace", .kind = "sluice trace", .is_one = &is_trace, .path = output.trace.value()};
}

[[noreturn]] void refuse(const Report& report, const std::string& what, ExitCode code = ExitCode::refused,
                         const char* id = "E-SEC-024") {
    throw Error(code, {.id = id,
                       .where = escaped(report.path.native()),
                       .what = what,
                       .hint = fmt::format("choose another {}", report.key)});
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

void refuse_run_folders(const Report& report, const Path& whole) {
    const auto is_of_run = [](const Path& name) { return name.native().ends_with(run_folder_suffix); };
    std::error_code unknown;
    for (const Path& path : {std::filesystem::absolute(report.path, unknown), whole}) {
        if (std::ranges::any_of(path, is_of_run)) {
            refuse(report, "lies in a run's folder, or has the name of one");
        }
    }
    if (is_folder(whole.native() + std::string(run_folder_suffix))) {
        refuse(report, "is the name of a run's output");
    }
}

void refuse_output_folders(const Report& report, const Path& whole, const Path& output) {
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

void refuse_other_files(const Report& report) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::symlink_status(report.path, unknown);
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
    const auto begins_as_one = [&](std::size_t bytes) {
        const std::optional<std::string> text = read_text(report.path, bytes);
        return !text || report.is_one(*text);  // null: removed meanwhile
    };
    if (!begins_as_one(report_start_bytes) && !begins_as_one(longest_report)) {
        refuse(report, fmt::format("already exists and is not a {}: only those may be replaced", report.kind));
    }
}

void check(const Report& report, const Path& output) {
    const Path& path = report.path;
    const Path whole = plain(path.has_parent_path() ? path.parent_path() : Path(".")) / path.filename();
    refuse_run_folders(report, whole);
    refuse_output_folders(report, whole, output);
    refuse_other_files(report);
    check_folder_of(path, report.key);
}

void place(const Report& report, std::span<const std::string> parts, const Path& output) {
    check(report, output);
    OutputFile file(report.path, report.key);
    for (const std::string& part : parts) {
        file.write(part);
    }
    file.publish([&] { check(report, output); });
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
        check_folder_of(is_folder(output) ? output : output.parent_path(), "output.path");
    }
}

void check_report_paths(const JobConfig::Output& output) {
    check(report_of(output), output.path);
    if (output.trace) {
        check(trace_of(output), output.path);
    }
}

void refuse_to_replace_input_files(const JobConfig& job, const std::vector<Path>& files) {
    for (const auto& [key, written] : written_files(job.output)) {
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

void place_report(std::string_view text, const JobConfig::Output& output) {
    const std::string whole(text);
    place(report_of(output), {&whole, 1}, output.path);
}

void place_trace(std::span<const std::string> parts, const JobConfig::Output& output) {
    place(trace_of(output), parts, output.path);
}

}  // namespace sluice
