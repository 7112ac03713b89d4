#include "core/commit/run_paths.hpp"

#include <fmt/format.h>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

bool is_folder(const std::filesystem::path& path) {
    const auto status = status_of(path);
    return status && S_ISDIR(status->st_mode);
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
    return {.layout = folder ? OutputLayout::folder : OutputLayout::file,
            .output = plain_path(output),
            .extension = folder ? extension : std::string()};
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
