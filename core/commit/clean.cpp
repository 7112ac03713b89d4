#include "core/commit/clean.hpp"

#include <string>
#include <string_view>

#include "core/commit/file.hpp"

namespace sluice {
namespace {

/// What cannot be removed now is told, and is no failure of the run.
template <class Action>
void try_to(std::vector<ErrorText>& warnings, Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        warnings.push_back({.id = "W-OUT-112",
                            .where = error.text().where,
                            .what = "is no longer needed, but could not be removed: " + error.text().what,
                            .hint = "remove it by hand"});
    }
}

bool may_be_in_use(const std::filesystem::path& folder, const Owner& me, std::chrono::seconds alive_within) {
    const std::optional<Owner> owner = read_owner(folder);
    if (owner && owner->id == me.id) {
        return false;
    }
    return look_for_owner(folder, me, alive_within).presence == Presence::present;
}

void remove_data(const std::filesystem::path& epoch) {
    for (const std::string& name : names_in_folder(epoch)) {
        if (name.ends_with(".bin") || name.ends_with(".copy") || name.ends_with(".new")) {
            remove_file(epoch / name);
        }
    }
}

void remove_leftovers(const std::filesystem::path& run_folder) {
    for (const std::string& name : names_in_folder(run_folder)) {
        if (name.ends_with(".new")) {
            remove_file(run_folder / name);
        }
    }
}

/// An epoch, one that never got its number, or a file that somebody has made to learn the time.
void clean_entry(const std::filesystem::path& entry, std::uint32_t published, const Owner& me,
                 std::chrono::seconds alive_within) {
    const auto status = status_of(entry);
    if (!status) {
        return;
    }
    const std::string name = entry.filename().native();
    if (!S_ISDIR(status->st_mode)) {
        if (name.starts_with(clock_file_prefix)) {
            remove_file(entry);
        }
        return;
    }
    if (may_be_in_use(entry, me, alive_within)) {
        return;
    }
    if (name == std::to_string(published)) {
        remove_data(entry);
    } else {
        remove_folder(entry);
    }
}

}  // namespace

std::vector<ErrorText> clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me,
                                 std::chrono::seconds alive_within) {
    std::vector<ErrorText> warnings;
    std::vector<std::string> names;
    try_to(warnings, [&] { remove_leftovers(paths.run_folder()); });
    try_to(warnings, [&] { names = names_in_folder(paths.epochs()); });
    for (const std::string& name : names) {
        try_to(warnings, [&] { clean_entry(paths.epochs() / name, published, me, alive_within); });
    }
    return warnings;
}

std::vector<ErrorText> remove_earlier_data(const Epoch& epoch, std::chrono::seconds alive_within) {
    std::vector<ErrorText> warnings;
    for (const std::uint32_t number : epochs_of(epoch.paths())) {
        const std::filesystem::path folder = epoch.paths().epoch(number);
        try_to(warnings, [&] {
            if (number < epoch.number() && !may_be_in_use(folder, epoch.owner(), alive_within)) {
                remove_data(folder);
            }
        });
    }
    return warnings;
}

}  // namespace sluice
