#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

/// The process that writes to an attempt.
struct Owner {
    std::string id{};  ///< Unique.
    std::string host{};
    std::string boot{};           ///< Id of the host's current boot.
    std::string process_space{};  ///< PID namespace, within which `process` is valid.
    std::int64_t process = 0;
    std::uint64_t process_start = 0;  ///< In clock ticks since boot; distinguishes processes that reuse a number.
    std::string job{};                ///< SLURM_JOB_ID; empty outside of Slurm.
    std::uint64_t restarts = 0;       ///< SLURM_RESTART_COUNT.
    std::string run{};                ///< Fingerprint of the run's identity: attempts of another are not adopted.
};

/// This process, with a new id. `job` and `restarts`: from Slurm, if it runs under it.
[[nodiscard]] Owner this_process(const std::string& job, std::uint64_t restarts);

/// "job 4711 (process 1234 on n07)".
[[nodiscard]] std::string describe(const Owner& owner);

[[nodiscard]] std::string encode(const Owner& owner);
/// nullopt: damaged or missing.
[[nodiscard]] std::optional<Owner> read_owner(const std::filesystem::path& attempt);

/// Whether `me` could see the process `owner`: same host, boot and PID namespace.
[[nodiscard]] bool is_here(const Owner& owner, const Owner& me);

/// Whether `owner` is known to have ended: by the process table, or as an earlier start of `me`'s Slurm job.
[[nodiscard]] bool has_ended(const Owner& owner, const Owner& me);

enum class Presence {
    gone,     ///< Known to have ended.
    silent,   ///< Its heartbeat is too old, or too far in the future.
    present,  ///< It may still write.
};

/// State of an attempt's owner, as seen by `me`. One that has noted its end has ended, and an earlier start of `me`'s
/// Slurm job (fewer restarts); for a process of this host the process table decides; otherwise the age of its
/// heartbeat, relative to a file created now in the same file system, so that this host's clock does not matter.
struct Sighting {
    Presence presence = Presence::gone;
    std::chrono::seconds age{0};  ///< Of the heartbeat.
};
[[nodiscard]] Sighting look_for_owner(const std::filesystem::path& attempt, const Owner& me,
                                      std::chrono::seconds alive_within);

/// The owner that `attempt` has, if it seems to be alive. For messages: writes nothing, so that where the process table
/// cannot decide, its heartbeat is compared with this host's clock.
[[nodiscard]] std::optional<Owner> glimpse_owner(const std::filesystem::path& attempt, const Owner& me,
                                                 std::chrono::seconds alive_within);

/// Prefix of the name of an empty file, removed at once, that tells the file system's time.
inline constexpr std::string_view clock_file_prefix = ".now-";

// Inside of an attempt's folder.
[[nodiscard]] std::filesystem::path owner_file(const std::filesystem::path& attempt);
[[nodiscard]] std::filesystem::path heartbeat_file(const std::filesystem::path& attempt);

/// A thread that touches `file`, which exists, once per `interval`, by the file system's clock, until it is destroyed.
/// Throws std::system_error if no thread can be created.
[[nodiscard]] std::jthread send_heartbeats(const std::filesystem::path& file, std::chrono::milliseconds interval);

}  // namespace sluice
