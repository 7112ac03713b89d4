#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
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
    /// Creates the run's next attempt, owned by `me`. The folder is prepared under another name, with owner and
    /// heartbeat, and then renamed, which succeeds for one process only. Throws Error (in_use, E-OUT-079) if the newest
    /// attempt's owner has sent a heartbeat less than `alive_within` ago and is not known to have ended.
    [[nodiscard]] static AttemptFolder acquire(const RunPaths& paths, const Owner& me,
                                               std::chrono::seconds alive_within);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    [[nodiscard]] const RunPaths& paths() const noexcept { return paths_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

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

}  // namespace sluice
