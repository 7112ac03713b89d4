#include "core/commit/owner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "core/commit/held_folder.hpp"
#include "core/commit/json_text.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/machine/provenance.hpp"
#include "core/sync/stopped_before.hpp"
#include "core/system/descriptor.hpp"
#include "core/system/process_state.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_owner_bytes = 64 << 10;

std::string link_target(const char* path) {
    std::error_code none;
    const std::filesystem::path target = std::filesystem::read_symlink(path, none);
    return none ? std::string() : target.native();
}

std::chrono::nanoseconds time_of(const struct ::stat& status) {
    return std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
}

/// Opens the file, for which an NFS client asks its server; stat() may get the times that it has kept for a minute.
void refresh_times_of(const std::filesystem::path& file) {
    const FilePlace place = FilePlace::entry(file);
    const Descriptor open(::openat(place.base(), place.name(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

/// How long ago the owner sent a heartbeat, by the clock of the file system.
std::chrono::nanoseconds heartbeat_age(const std::filesystem::path& attempt) {
    refresh_times_of(heartbeat_file(attempt));
    auto heartbeat = status_of(heartbeat_file(attempt));
    if (!heartbeat) {
        heartbeat = status_of(attempt);
    }
    if (!heartbeat) {
        return std::chrono::nanoseconds::max();  // removed meanwhile: nobody writes there
    }
    const std::filesystem::path path = attempt.parent_path() / (std::string(clock_file_prefix) + make_unique_id());
    File file = File::create(path);
    const struct ::stat now = file.status();  // not by its name: whoever cleans up may take that away
    file.close();
    static_cast<void>(try_to_remove_file(path));
    return time_of(now) - time_of(*heartbeat);
}

/// One that fails is one that others miss: at worst they take over, which the writer meets at its next commit.
void touch(const std::filesystem::path& file) {
    const FilePlace place = FilePlace::entry(file);
    ::utimensat(place.base(), place.name(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

Owner this_process(const std::string& job, std::uint64_t restarts) {
    const std::int64_t process = ::getpid();
    return {.id = make_unique_id(),
            .host = host_name(),
            .boot = first_line("/proc/sys/kernel/random/boot_id"),
            .process_space = link_target("/proc/self/ns/pid"),
            .process = process,
            .process_start = read_process_state(process).value_or(ProcessState{}).start,
            .job = job,
            .restarts = restarts};
}

std::string describe(const Owner& owner) {
    const std::string process = fmt::format("process {} on {}", owner.process, escaped(owner.host));
    return owner.job.empty() ? process : fmt::format("job {} ({})", escaped(owner.job), process);
}

std::string encode(const Owner& owner) {
    return sealed_text({{"format", "sluice owner"},
                        {"id", owner.id},
                        {"host", json_safe(owner.host)},
                        {"boot", json_safe(owner.boot)},
                        {"process_space", json_safe(owner.process_space)},
                        {"process", owner.process},
                        {"process_start", owner.process_start},
                        {"job", json_safe(owner.job)},
                        {"restarts", owner.restarts},
                        {"run", owner.run}});
}

std::optional<Owner> read_owner(const std::filesystem::path& attempt) {
    const std::optional<std::string> text = read_text(owner_file(attempt), most_owner_bytes);
    const std::optional<Json> json = text ? open_sealed_text(*text) : std::nullopt;
    if (!json) {
        return std::nullopt;
    }
    try {
        return Owner{.id = json->at("id"),
                     .host = json->at("host"),
                     .boot = json->at("boot"),
                     .process_space = json->at("process_space"),
                     .process = json->at("process"),
                     .process_start = json->at("process_start"),
                     .job = json->at("job"),
                     .restarts = json->at("restarts"),
                     .run = json->value("run", std::string())};
    } catch (const nlohmann::json::exception&) {  // as good as none: the heartbeat decides
        return std::nullopt;
    }
}

bool is_here(const Owner& owner, const Owner& me) {
    return !owner.boot.empty() && owner.boot == me.boot && owner.host == me.host && !owner.process_space.empty() &&
           owner.process_space == me.process_space;
}

bool has_ended(const Owner& owner, const Owner& me) {
    if (!owner.job.empty() && owner.job == me.job && owner.restarts < me.restarts) {
        return true;
    }
    if (!is_here(owner, me)) {
        return false;
    }
    const std::optional<ProcessState> state = read_process_state(owner.process);
    if (::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH) {
        return true;
    }
    // Without either of the two nothing is known: the heartbeat decides.
    return state && owner.process_start != 0 && (state->has_ended() || state->start != owner.process_start);
}

Sighting look_for_owner(const std::filesystem::path& attempt, const Owner& me, std::chrono::seconds alive_within) {
    const std::optional<Owner> owner = read_owner(attempt);
    if (has_noted_end(attempt) || (owner && has_ended(*owner, me))) {
        return {};
    }
    const std::chrono::nanoseconds age = heartbeat_age(attempt);
    // Where clients give files their own clocks' time it may lie ahead a little. One far ahead says nothing: the clock
    // was set back, or the file was touched, and whoever lives gives another sign within seconds.
    const bool is_fresh = age < alive_within && age > -alive_within;
    return {.presence = is_fresh ? Presence::present : Presence::silent,
            .age = std::chrono::duration_cast<std::chrono::seconds>(std::max(age, std::chrono::nanoseconds(0)))};
}

std::optional<Owner> glimpse_owner(const std::filesystem::path& attempt, const Owner& me,
                                   std::chrono::seconds alive_within) {
    std::optional<Owner> owner = read_owner(attempt);
    if (!owner || has_noted_end(attempt) || has_ended(*owner, me)) {
        return std::nullopt;
    }
    const auto heartbeat = status_of(heartbeat_file(attempt));
    const bool is_fresh =
        heartbeat && std::chrono::system_clock::now().time_since_epoch() - time_of(*heartbeat) < alive_within;
    return is_fresh || is_here(*owner, me) ? std::move(owner) : std::nullopt;
}

std::filesystem::path owner_file(const std::filesystem::path& attempt) {
    return attempt / "owner.json";
}

std::filesystem::path heartbeat_file(const std::filesystem::path& attempt) {
    return attempt / "alive";
}

std::jthread send_heartbeats(const std::filesystem::path& file, std::chrono::milliseconds interval) {
    return std::jthread([file, interval](const std::stop_token& stop) {
        name_this_thread("heartbeat");
        while (!stopped_before(stop, Clock::now() + interval)) {
            touch(file);
        }
    });
}

}  // namespace sluice
