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
    superseded,  ///< Another attempt has begun since, or has even finished, or begun anew under its number.
    gone,        ///< Its folder was moved away or removed, or its file system is no longer mounted.
};

/// One attempt's own folder: nobody else writes to it, and it writes to no other. Numbers rise from 1.
class AttemptFolder {
public:
    /// The next attempt of the run, owned by `me`. The folder is prepared under another name, owner and heartbeat in
    /// it, and renamed, which succeeds for one process alone. Throws Error (in_use, E-OUT-079) while the newest
    /// attempt's owner sent a heartbeat less than `alive_within` ago and is not known to have ended.
    [[nodiscard]] static AttemptFolder acquire(const RunPaths& paths, const Owner& me,
                                               std::chrono::seconds alive_within);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    [[nodiscard]] const RunPaths& paths() const noexcept { return paths_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

    /// Throws Error (io_error) when that cannot be looked at.
    [[nodiscard]] Standing standing() const;

    /// Throws Error unless it is current: superseded (E-OUT-083), or io_error (E-OUT-119) when its folder is gone. The
    /// output stays right without: this spares work.
    void check_fence() const;

private:
    AttemptFolder(RunPaths paths, std::uint32_t number, Owner owner);

    RunPaths paths_;
    std::uint32_t number_;
    std::filesystem::path folder_;
    Owner owner_;
};

/// The attempts of a run, in order.
[[nodiscard]] std::vector<std::uint32_t> attempts_of(const RunPaths& paths);

/// Who works on the newest attempt, or has; nullopt: there is none, or it does not say.
[[nodiscard]] std::optional<Owner> newest_owner(const RunPaths& paths);

}  // namespace sluice
