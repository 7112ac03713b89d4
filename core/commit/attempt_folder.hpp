#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/commit/owner.hpp"
#include "core/commit/run_paths.hpp"

namespace sluice {

/// Whether an attempt may still write.
enum class Standing : std::uint8_t {
    current,
    superseded,  ///< A later attempt has begun or even finished, or one has begun anew under its number.
    gone,        ///< Its folder was moved or removed, or its file system unmounted.
};

/// The folder of one attempt, which alone writes to it, and to no other. Attempts are numbered from 1.
class AttemptFolder {
public:
    /// Called with what is waited for, for a message, before the wait.
    using OnWait = std::function<void(const std::string& what)>;

    /// Creates the run's next attempt, owned by `me`. The folder is prepared under another name, with owner and
    /// heartbeat, and then renamed, which succeeds for one process only; the caller syncs RunPaths::attempts(). Throws
    /// Error (in_use, E-OUT-079) if the newest attempt's owner has sent a heartbeat less than `alive_within` ago and is
    /// not known to have ended. With `on_wait`, of an owner on another host, only once it sends another one: until then
    /// it may have been killed.
    [[nodiscard]] static AttemptFolder acquire(const RunPaths& paths, const Owner& me,
                                               std::chrono::seconds alive_within, const OnWait& on_wait = {});

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    [[nodiscard]] const RunPaths& paths() const noexcept { return paths_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

    /// Sets Owner::run, which was empty, durably: that of a run whose items had still to be counted. Throws Error.
    void name_run(const std::string& fingerprint);

    /// Throws Error (io_error) if it cannot be determined.
    [[nodiscard]] Standing standing() const;

    /// Throws Error unless this attempt is current: superseded (E-OUT-083), or io_error (E-OUT-119) if its folder is
    /// gone. Only saves work: the output is correct without it.
    void check_fence() const;

private:
    AttemptFolder(RunPaths paths, std::uint32_t number, Owner owner);

    RunPaths paths_;
    std::uint32_t number_;
    std::filesystem::path folder_;
    Owner owner_;
};

/// Numbers of a run's attempts, ascending.
[[nodiscard]] std::vector<std::uint32_t> attempts_of(const RunPaths& paths);

/// Owner of the newest attempt, running or not; nullopt: no attempt, or owner unknown.
[[nodiscard]] std::optional<Owner> newest_owner(const RunPaths& paths);

/// The same, if it seems to be alive, to `me`: see glimpse_owner(). nullopt also where that cannot be read.
[[nodiscard]] std::optional<Owner> glimpse_newest_owner(const RunPaths& paths, const Owner& me);

}  // namespace sluice
