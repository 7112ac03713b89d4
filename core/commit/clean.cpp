#include "core/commit/clean.hpp"

#include <string>
#include <system_error>

#include "core/commit/file.hpp"

namespace sluice {
namespace {

bool may_be_in_use(const std::filesystem::path& folder, const Owner& me, std::chrono::seconds alive_within) {
    const std::optional<Owner> owner = read_owner(folder);
    if (owner && owner->id == me.id) {
        return false;
    }
    return look_for_owner(folder, me, alive_within).presence == Presence::present;
}

void remove_data(const std::filesystem::path& folder) {
    for (const std::string& name : names_in_folder(folder)) {
        if (name.ends_with(".bin")) {
            remove_file(folder / name);
        }
    }
}

void remove_leftovers(const std::filesystem::path& folder) {
    for (const std::string& name : names_in_folder(folder)) {
        if (name.ends_with(".new")) {
            remove_file(folder / name);
        }
    }
}

}  // namespace

void clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me, std::chrono::seconds alive_within) {
    remove_leftovers(paths.run_folder());
    for (const std::string& name : names_in_folder(paths.epochs())) {
        const std::filesystem::path folder = paths.epochs() / name;
        const auto status = status_of(folder);
        if (!status || !S_ISDIR(status->st_mode) || may_be_in_use(folder, me, alive_within)) {
            continue;
        }
        if (name == std::to_string(published)) {
            remove_data(folder);
            continue;
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
}

}  // namespace sluice
