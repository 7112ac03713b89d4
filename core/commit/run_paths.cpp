#include "core/commit/run_paths.hpp"

#include <fmt/format.h>
#include <limits.h>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

bool is_folder(const std::filesystem::path& path) {
    const auto status = status_of(path);
    return status && S_ISDIR(status->st_mode);
}

/// Of the run folder's own files that are opened by their whole paths, none has a longer name there.
constexpr std::size_t longest_name_below = 80;  // "/attempts/4294967295/MANIFEST.json.", 32 digits and ".new"

void check_length(const RunPaths& paths) {
    const std::size_t longest = paths.run_folder().native().size() + longest_name_below;
    if (longest >= PATH_MAX) {
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-021",
                     .where = escaped(paths.output.native()),
                     .what = fmt::format("its run's files would have paths of up to {} bytes (expected at most {})",
                                         longest, PATH_MAX - 1),
                     .hint = "choose an [output].path in a folder with a shorter path"});
    }
}

}  // namespace

std::filesystem::path RunPaths::run_folder() const {
    return layout == OutputLayout::folder ? output / run_folder_suffix
                                          : std::filesystem::path(output.native() + std::string(run_folder_suffix));
}

std::filesystem::path RunPaths::attempt(std::uint32_t number) const {
    return attempts() / std::to_string(number);
}

std::filesystem::path RunPaths::manifest() const {
    return (layout == OutputLayout::folder ? output : run_folder()) / manifest_name;
}

std::filesystem::path RunPaths::published_folder() const {
    return layout == OutputLayout::folder ? output : output.parent_path();
}

std::string RunPaths::published_name(std::uint32_t part) const {
    return layout == OutputLayout::folder ? fmt::format("part-{:05}{}", part, extension) : output.filename().native();
}

RunPaths run_paths(const std::filesystem::path& output, const std::string& extension) {
    const bool folder = !output.has_filename();
    if (output.empty() || output.native().find('\0') != std::string::npos) {
        throw Error(ExitCode::cannot_create, {.id = "E-OUT-021",
                                              .where = escaped(output.native()),
                                              .what = "not the path of a file or folder",
                                              .hint = "name one in [output].path"});
    }
    RunPaths paths{.layout = folder ? OutputLayout::folder : OutputLayout::file,
                   .output = plain_path(output),
                   .extension = folder ? extension : std::string()};
    check_length(paths);
    return paths;
}

std::optional<RunPaths> find_run(const std::filesystem::path& path) {
    const std::filesystem::path output = plain_path(path);
    const std::string name = output.filename().native();
    if (name == run_folder_suffix) {
        return find_run(output.parent_path());
    }
    if (name.ends_with(run_folder_suffix) && is_folder(output)) {
        return find_run(output.native().substr(0, output.native().size() - run_folder_suffix.size()));
    }
    for (const OutputLayout layout : {OutputLayout::folder, OutputLayout::file}) {
        RunPaths paths{.layout = layout, .output = output, .extension = {}};
        if (is_folder(paths.run_folder())) {
            return paths;
        }
    }
    return std::nullopt;
}

std::filesystem::path journal_file(const std::filesystem::path& attempt) {
    return attempt / "w0.jrn";
}

std::filesystem::path part_file(const std::filesystem::path& attempt, std::uint32_t part) {
    return attempt / fmt::format("part-{:05}.bin", part);
}

}  // namespace sluice
