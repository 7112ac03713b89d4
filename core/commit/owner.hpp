#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

/// Who writes to an attempt.
struct Owner {
    std::string id{};  ///< Unique.
    std::string host{};
    std::string boot{};           ///< Of this start of the host.
    std::string process_space{};  ///< The PID namespace: only in the same one does `process` mean the same.
    std::int64_t process = 0;
    std::uint64_t process_start = 0;  ///< Clock ticks after the boot; tells a process from a later one of its number.
    std::string job{};                ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;       ///< SLURM_RESTART_COUNT.
    std::string run{};  ///< Fingerprint of what the run computes: another one's attempts are not taken over.
};

/// This process, with a fresh id. `job` and `restarts` come from Slurm, if it runs under it.
[[nodiscard]] Owner this_process(const std::string& job, std::uint64_t restarts);

/// "job 4711 (process 1234 on n07)".
[[nodiscard]] std::string describe(const Owner& owner);

[[nodiscard]] std::string encode(const Owner& owner);
/// nullopt: damaged or not there.
[[nodiscard]] std::optional<Owner> read_owner(const std::filesystem::path& attempt);

/// Whether `owner` is a process that `me` could see: of this start of this host, and of the same PID namespace.
[[nodiscard]] bool is_here(const Owner& owner, const Owner& me);

/// Whether it is known to have ended: by the process table here, or as an earlier run of `me`'s job.
[[nodiscard]] bool has_ended(const Owner& owner, const Owner& me);

enum class Presence {
    gone,     ///< It is known to have ended.
    silent,   ///< Its heartbeat is older than allowed, or as far in the future.
    present,  ///< It may be writing.
};

/// What is known of an attempt's owner, as `me` sees it. Its own earlier run under Slurm (the same job, fewer restarts)
/// has ended; on this host the process table knows; else the time of its heartbeat decides, against a file made now in
/// the same file system: no clock of this host counts.
struct Sighting {
    Presence presence = Presence::gone;
    std::chrono::seconds age{0};  ///< Of the heartbeat.
};
[[nodiscard]] Sighting look_for_owner(const std::filesystem::path& attempt, const Owner& me,
                                      std::chrono::seconds alive_within);

/// So begins the name of an empty file among the attempts that tells the file system's time; it is removed at once.
inline constexpr std::string_view clock_file_prefix = ".now-";

// Inside of an attempt's folder.
[[nodiscard]] std::filesystem::path owner_file(const std::filesystem::path& attempt);
[[nodiscard]] std::filesystem::path heartbeat_file(const std::filesystem::path& attempt);

/// A thread that touches `file`, which exists, once an interval, by the clock of its file system, until it is
/// destroyed. Throws std::system_error when no thread can be started.
[[nodiscard]] std::jthread send_heartbeats(const std::filesystem::path& file, std::chrono::milliseconds interval);

}  // namespace sluice
