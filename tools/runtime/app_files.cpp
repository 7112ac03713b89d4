#include "tools/runtime/app_files.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "core/files/opened_file.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_app_file(const AppFile& file, const std::string& what) {
    throw Error(ExitCode::no_input,
                {.id = "E-MOD-055",
                 .where = escaped(file.path.native()),
                 .what = fmt::format("{}: {}", escaped(file.name), what),
                 .hint = file.hint.empty() ? fmt::format("check {}", escaped(file.name)) : file.hint});
}

Descriptor open_app_file(const AppFile& file) {
    OpenedFile opened = open_file(file.path);
    if (!opened.is_regular()) {  // what is not cannot be checksummed
        refuse_app_file(file, opened.problem());
    }
    return std::move(opened.file);
}

}  // namespace

WatchedAppFile::WatchedAppFile(AppFile file)
    : name_(std::move(file.name)),
      where_(escaped(file.path.native())),
      watched_(open_app_file({name_, file.path, file.hint}), file.path) {}

void WatchedAppFile::check_content() const {
    if (const std::string what = watched_.change_of_content(); !what.empty()) {
        throw Error(ExitCode::bad_data, {.id = "E-MOD-056",
                                         .where = where_,
                                         .what = fmt::format("{}: {}", escaped(name_), what),
                                         .hint = "do not change the file while a job runs; then run it again"});
    }
}

void refuse_to_replace_app_files(const JobConfig& job, const OpenApp& app) {
    for (const AppFile& file : app.files()) {
        refuse_to_replace(job, file.path, escaped(file.name), [](std::string_view) { return std::string(); });
    }
}

AppFiles open_app_files(const AppSettings& settings, const OpenApp& app) {
    AppFiles files;
    for (const AppSettings::Entry& entry : settings.entries()) {
        if (const auto* const path = std::get_if<std::filesystem::path>(&entry.value)) {
            files.push_back(std::make_unique<WatchedAppFile>(AppFile{.name = entry.name, .path = *path}));
        }
    }
    for (AppFile& file : app.files()) {
        files.push_back(std::make_unique<WatchedAppFile>(std::move(file)));
    }
    return files;
}

}  // namespace sluice
