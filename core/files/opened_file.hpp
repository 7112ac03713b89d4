#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "core/system/descriptor.hpp"

namespace sluice {

/// What opening a path to read it gave.
struct OpenedFile {
    Descriptor file;          ///< Open, if there is no error.
    int error = 0;            ///< The errno of opening or examining it; 0: none.
    struct ::stat status {};  ///< Of the open file.

    [[nodiscard]] bool is_regular() const noexcept { return error == 0 && S_ISREG(status.st_mode); }
    [[nodiscard]] bool is_folder() const noexcept { return error == 0 && S_ISDIR(status.st_mode); }

    /// "cannot open: No such file or directory", "not a regular file (got a pipe, expected a file)"; call unless
    /// is_regular().
    [[nodiscard]] std::string problem() const;
};

/// Does not wait for a pipe's writer. Throws Error like refuse_at_limit() (core/files/paths.hpp).
[[nodiscard]] OpenedFile open_file(const std::filesystem::path& path);

}  // namespace sluice
