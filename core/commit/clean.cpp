#include "core/commit/clean.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

constexpr std::string_view gone_prefix = ".gone-";  // of an empty attempt on its way out

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

void remove_files(const std::filesystem::path& folder, std::initializer_list<std::string_view> endings) {
    for (const std::string& name : names_in_folder(folder)) {
        if (std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); })) {
            remove_file(folder / name);
        }
    }
}

void remove_data(const std::filesystem::path& attempt) {
    remove_files(attempt, {".bin", ".copy", ".new"});
}

/// Its owner comes last: whoever finds it half removed has to know that nobody uses it.
void remove_attempt(const std::filesystem::path& attempt) {
    const std::array last{heartbeat_file(attempt), owner_file(attempt)};
    for (const std::string& name : names_in_folder(attempt)) {
        const std::filesystem::path file = attempt / name;
        const auto status = std::ranges::find(last, file) == last.end() ? status_of(file) : std::nullopt;
        if (status && S_ISDIR(status->st_mode)) {
            remove_folder(file);
        } else if (status) {
            remove_file(file);
        }
    }
    for (const std::filesystem::path& file : last) {
        remove_file(file);
    }
    remove_folder(attempt);
}

/// An attempt, one that never got its number, or a file that somebody has made to learn the time.
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
        remove_attempt(entry);
    }
}

/// Unless there is another one by now.
void give_back(const std::filesystem::path& kept, const std::filesystem::path& file) {
    const int error = link_to(kept, file);
    if (error != 0 && error != EEXIST && !status_of(file)) {  // there are no links here
        static_cast<void>(rename_to(kept, file));
    }
}

/// False also where that cannot be looked at: the process ends for another reason, which is said.
bool is_alone(const AttemptFolder& attempt) {
    try {
        return attempts_of(attempt.paths()) == std::vector{attempt.number()} &&
               attempt.standing() == Standing::current && !has_lost_ranks(attempt.folder());
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::vector<ErrorText> clean_run(const RunPaths& paths, std::uint32_t published, const Owner& me,
                                 std::chrono::seconds alive_within) {
    std::vector<ErrorText> warnings;
    std::vector<std::string> names;
    try_to(warnings, [&] { remove_files(paths.run_folder(), {".new"}); });
    try_to(warnings, [&] { names = names_in_folder(paths.run_folder()); });
    for (const std::string& name : names) {
        const std::filesystem::path folder = paths.run_folder() / name;
        try_to(warnings, [&] {
            if (name.starts_with(gone_prefix) && !may_be_in_use(folder, me, alive_within)) {
                remove_attempt(folder);
            }
        });
    }
    names.clear();
    try_to(warnings, [&] { names = names_in_folder(paths.attempts()); });
    for (const std::string& name : names) {
        try_to(warnings, [&] { clean_entry(paths.attempts() / name, published, me, alive_within); });
    }
    return warnings;
}

std::vector<ErrorText> remove_earlier_data(const AttemptFolder& attempt, std::chrono::seconds alive_within) {
    std::vector<ErrorText> warnings;
    for (const std::uint32_t number : attempts_of(attempt.paths())) {
        const std::filesystem::path folder = attempt.paths().attempt(number);
        try_to(warnings, [&] {
            if (number < attempt.number() && !may_be_in_use(folder, attempt.owner(), alive_within)) {
                remove_data(folder);
            }
        });
    }
    return warnings;
}

// Another attempt may begin at any moment, for which this one need only have been stopped for a minute. So nothing but
// this attempt's own folder is removed, and the folder of all attempts only if it is empty then, which the file system
// decides at once. What the run says of itself is put aside before, and given back where that folder stays. Who begins
// in between makes another job.json, now or when it publishes, and until then its attempt says itself of which run it
// is.
void remove_if_alone(const AttemptFolder& attempt) {
    if (!is_alone(attempt)) {
        return;
    }
    fault_point("abandon");
    const RunPaths& paths = attempt.paths();
    const std::array shared{paths.identity(), paths.job_file()};
    const std::filesystem::path away = paths.run_folder() / (std::string(gone_prefix) + attempt.owner().id);
    std::vector<ErrorText> unsaid;  // what cannot be done is left undone
    try_to(unsaid, [&] { static_cast<void>(rename_to(attempt.folder(), away)); });
    for (const std::filesystem::path& file : shared) {
        try_to(unsaid, [&] { static_cast<void>(rename_to(file, away / file.filename())); });
    }
    const bool was_alone = remove_empty_folder(paths.attempts()) == 0;
    fault_point("abandoned");
    for (const std::filesystem::path& file : shared) {
        if (!was_alone) {
            try_to(unsaid, [&] { give_back(away / file.filename(), file); });
        }
    }
    try_to(unsaid, [&] { remove_attempt(away); });
    static_cast<void>(remove_empty_folder(paths.run_folder()));  // unless something else is kept in it
}

// Who begins in between makes another job.json, as above.
void remove_if_unattempted(const RunPaths& paths) {
    std::vector<ErrorText> unsaid;  // what cannot be done is left undone
    try_to(unsaid, [&] {
        const bool is_begun = status_of(paths.manifest()).has_value();
        if (const int error = is_begun ? EEXIST : remove_empty_folder(paths.attempts());
            error == 0 || error == ENOENT) {
            remove_file(paths.identity());
            static_cast<void>(remove_empty_folder(paths.run_folder()));
        }
    });
}

}  // namespace sluice
