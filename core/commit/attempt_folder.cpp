#include "core/commit/attempt_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"
#include "core/commit/manifest.hpp"
#include "core/error.hpp"
#include "core/process/fault_point.hpp"
#include "core/text/parse.hpp"
#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr int most_attempts = 100;  // each lost to another process that began an attempt at the same moment

constexpr std::chrono::seconds look_interval{1};  // while waiting for another's heartbeat

/// Until an owner on another host has been silent for too long, or sends a heartbeat, which shows in a lower age.
Sighting wait_for_sign(const std::filesystem::path& attempt, const Owner& me, std::chrono::seconds alive_within,
                       Sighting sighting) {
    for (;;) {
        std::this_thread::sleep_for(look_interval);
        const Sighting next = look_for_owner(attempt, me, alive_within);
        if (next.presence != Presence::present || next.age < sighting.age) {
            return next;
        }
        sighting = next;
    }
}

void refuse_in_use(const std::filesystem::path& attempt, const Owner& me, std::chrono::seconds alive_within,
                   const RunPaths& paths, const AttemptFolder::OnWait& on_wait) {
    Sighting sighting = look_for_owner(attempt, me, alive_within);
    if (sighting.presence != Presence::present) {
        return;
    }
    const std::optional<Owner> owner = read_owner(attempt);
    const auto in_use = [&] {
        return fmt::format("is in use by {}, seen alive {} s ago",
                           owner ? describe(*owner) : std::string("another process"), sighting.age.count());
    };
    const auto left = [&] { return (alive_within - sighting.age).count(); };
    const bool is_seen = owner && is_here(*owner, me);  // if it were dead, that would be known
    const bool waits = on_wait && !is_seen;
    if (waits) {
        on_wait(fmt::format("{}; waiting up to {} s, in case it was killed", in_use(), left()));
        sighting = wait_for_sign(attempt, me, alive_within, sighting);
        if (sighting.presence != Presence::present) {
            return;
        }
    }
    throw Error(ExitCode::in_use,
                {.id = "E-OUT-079",
                 .where = escaped(paths.output.native()),
                 .what = in_use(),
                 .hint = waits || is_seen
                             ? fmt::format("wait for it: `{} status` shows how far it is", program_name())
                             : fmt::format("wait for it; if it has died, run the same command again in {} s", left())});
}

/// An attempt's folder before it has its number; removed when it does not get one.
class PreparedFolder {
public:
    PreparedFolder(const RunPaths& paths, const Owner& me) : PreparedFolder(paths.attempts() / (".new-" + me.id)) {
        make_folder(path_);
        File::create(heartbeat_file(path_)).close();
        File owner = File::create(owner_file(path_));
        owner.write_at(0, encode(me));
        owner.sync();
        owner.close();
        sync_folder(path_);
    }
    PreparedFolder(const PreparedFolder&) = delete;
    PreparedFolder& operator=(const PreparedFolder&) = delete;
    ~PreparedFolder() {
        try {
            remove_folder(path_);
        } catch (const Error&) {  // left to whoever finishes the run
        }
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    // Complete when it returns: the destructor then removes a folder that could not be filled.
    explicit PreparedFolder(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

/// A reply that got lost makes a network file system try again, and meet what the first try has done.
bool is_mine(const std::filesystem::path& attempt, const Owner& me) {
    const std::optional<Owner> owner = read_owner(attempt);
    return owner && owner->id == me.id;
}

/// Test builds only: the folder that all attempts share, owned by the last one.
constexpr std::uint32_t shared_attempt = 1;
void make_shared_folder(const RunPaths& paths, const Owner& me, std::chrono::seconds alive_within) {
    const std::filesystem::path folder = paths.attempt(shared_attempt);
    if (!make_folder(folder)) {
        refuse_in_use(folder, me, alive_within, paths, {});
    }
    write_text_durably(heartbeat_file(folder), "");
    write_text_durably(owner_file(folder), encode(me));
    fault_point("attempt.made");
}

}  // namespace

AttemptFolder::AttemptFolder(RunPaths paths, std::uint32_t number, Owner owner)
    : paths_(std::move(paths)), number_(number), folder_(paths_.attempt(number)), owner_(std::move(owner)) {}

AttemptFolder AttemptFolder::acquire(const RunPaths& paths, const Owner& me, std::chrono::seconds alive_within,
                                     const OnWait& on_wait) {
    make_folder(paths.attempts());
    sync_folder(paths.run_folder());
    if (is_broken("shared-folder")) {
        make_shared_folder(paths, me, alive_within);
        return {paths, shared_attempt, me};
    }
    std::optional<PreparedFolder> prepared;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        const std::vector<std::uint32_t> attempts = attempts_of(paths);
        const std::uint32_t newest = attempts.empty() ? 0 : attempts.back();
        if (newest != 0) {
            refuse_in_use(paths.attempt(newest), me, alive_within, paths, on_wait);
        }
        if (!prepared) {
            make_folder(paths.attempts());  // an attempt that gives up may have removed it
            prepared.emplace(paths, me);
        }
        const int error = rename_to(prepared->path(), paths.attempt(newest + 1));
        if (error == 0 || is_mine(paths.attempt(newest + 1), me)) {
            fault_point("attempt.made");
            fault_delay("attempt");
            return {paths, newest + 1, me};
        }
        if (error == ENOENT) {
            fail_on_file(paths.attempt(newest + 1), "rename a folder to", error);
        }
    }
    throw Error(ExitCode::in_use, {.id = "E-OUT-079",
                                   .where = escaped(paths.output.native()),
                                   .what = "other processes keep starting on the same output",
                                   .hint = "start one at a time"});
}

void AttemptFolder::name_run(const std::string& fingerprint) {
    const std::filesystem::path file = owner_file(folder_);
    std::error_code unknown;  // then it only seems to have begun later
    const auto begun = std::filesystem::last_write_time(file, unknown);
    owner_.run = fingerprint;
    write_text_durably(file, encode(owner_));
    if (!unknown) {
        std::filesystem::last_write_time(file, begun, unknown);
    }
}

Standing AttemptFolder::standing() const {
    if (is_broken("shared-folder") || is_broken("rename-over")) {
        return Standing::current;
    }
    if (!is_in_place(paths_.run_folder())) {
        return Standing::gone;
    }
    // Not the next number alone: whoever has finished the run may have removed all but the last.
    const std::vector<std::uint32_t> attempts = attempts_of(paths_);
    if (!attempts.empty() && attempts.back() > number_) {
        return Standing::superseded;
    }
    const std::optional<Manifest> manifest = read_manifest(paths_);
    if (manifest && manifest->owner != owner_.id) {
        return Standing::superseded;
    }
    const std::optional<Owner> owner = read_owner(folder_);
    if (owner && owner->id == owner_.id) {
        return Standing::current;
    }
    return owner ? Standing::superseded : Standing::gone;
}

void AttemptFolder::check_fence() const {
    switch (standing()) {
        case Standing::current:
            return;
        case Standing::superseded:
            throw Error(ExitCode::superseded,
                        {.id = "E-OUT-083",
                         .where = escaped(paths_.output.native()),
                         .what = fmt::format("a newer attempt than this one (number {}) has taken over", number_),
                         .hint = "nothing to do: the newer attempt finishes the output"});
        case Standing::gone:
            throw Error(
                ExitCode::io_error,
                {.id = "E-OUT-119",
                 .where = escaped(folder_.native()),
                 .what = "the run's folder is gone: it was moved, removed or unmounted while the run was going on",
                 .hint = "restore it under its name and run the same command again, which resumes it; without it the "
                         "run starts over"});
    }
}

std::vector<std::uint32_t> attempts_of(const RunPaths& paths) {
    std::vector<std::uint32_t> attempts;
    for (const std::string& name : names_in_folder(paths.attempts())) {
        const auto number = parse_number<std::uint32_t>(name);
        if (number && *number != 0 && *number != std::numeric_limits<std::uint32_t>::max()) {
            attempts.push_back(*number);
        }
    }
    std::sort(attempts.begin(), attempts.end());
    return attempts;
}

std::optional<Owner> newest_owner(const RunPaths& paths) {
    const std::vector<std::uint32_t> attempts = attempts_of(paths);
    return attempts.empty() ? std::nullopt : read_owner(paths.attempt(attempts.back()));
}

std::optional<Owner> glimpse_newest_owner(const RunPaths& paths, const Owner& me) {
    constexpr std::chrono::seconds alive_within{60};
    try {
        const std::vector<std::uint32_t> attempts = attempts_of(paths);
        return attempts.empty() ? std::nullopt : glimpse_owner(paths.attempt(attempts.back()), me, alive_within);
    } catch (const Error&) {  // what cannot be read names nobody
        return std::nullopt;
    }
}

}  // namespace sluice
