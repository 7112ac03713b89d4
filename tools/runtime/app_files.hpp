#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/config/config.hpp"
#include "core/input/watched_file.hpp"

namespace sluice {

/// A file that an app reads besides input and weights; open since its content became part of the run's identity.
class WatchedAppFile {
public:
    /// Throws Error (no_input, E-MOD-055) when it cannot be opened or is not a regular file; also as WatchedFile.
    explicit WatchedAppFile(AppFile file);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Stamp of its content (WatchedFile::stamp).
    [[nodiscard]] const std::string& stamp() const noexcept { return watched_.stamp(); }

    /// Throws Error (bad_data, E-MOD-056) unless the content of the file, and of whatever its path now refers to, is
    /// unchanged. Thread-safe.
    void check_content() const;

private:
    std::string name_;
    std::string where_;
    WatchedFile watched_;
};

using AppFiles = std::vector<std::unique_ptr<WatchedAppFile>>;

/// Throws Error (refused, E-SEC-019) if an output of `job` would replace a file that no key names and `app` reads.
void refuse_to_replace_app_files(const JobConfig& job, const OpenApp& app);

/// Opens the files named in `settings` by keys of type path, and those that `app` itself requires. Throws Error as
/// WatchedAppFile.
[[nodiscard]] AppFiles open_app_files(const AppSettings& settings, const OpenApp& app);

}  // namespace sluice
