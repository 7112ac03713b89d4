#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// File-system queries that fail with an Error a user can understand, instead of std::filesystem's exceptions. A test
// keeps std::filesystem's throwing functions out of all other sources.

/// `path` as an absolute path. Throws Error (no_input) if the working folder is gone or has no name.
[[nodiscard]] std::filesystem::path absolute_path(const std::filesystem::path& path);

/// `whole`, a path from the root, without "." and "..". As for the system, what follows a link leads on from its
/// target; other links stay as they are.
[[nodiscard]] std::filesystem::path without_dots(const std::filesystem::path& whole);

/// `path` from the root, without dots and without a slash at its end. Throws Error like absolute_path().
[[nodiscard]] std::filesystem::path plain_path(const std::filesystem::path& path);

/// ".csv" of "a.CSV"; empty if it has none.
[[nodiscard]] std::string lower_extension(const std::filesystem::path& path);

/// `hint` for a path that a job names and that does not exist; says so if a shell would have expanded a part of it.
[[nodiscard]] std::string hint_for_missing(std::string hint, const std::filesystem::path& path);

/// "; did you mean 'job.toml'?" for "job" where only that is a file; else empty.
[[nodiscard]] std::string did_you_mean_job(const std::filesystem::path& named);

/// "a folder", "a pipe", "a device" or "a socket". `status` is not that of a regular file.
[[nodiscard]] std::string_view kind_of_file(const struct ::stat& status);

/// Throws Error (out_of_memory, E-IO-005) if `error`, the errno of `operation` on `where`, means that a limit on open
/// files was reached: then the path is not at fault.
void refuse_at_limit(const std::string& where, const char* operation, int error);

/// What an Error (io_error) says about an errno of writing, syncing, closing or renaming a file.
struct WriteFailure {
    const char* id;
    const char* hint;
};
[[nodiscard]] WriteFailure write_failure(int error) noexcept;

/// Returns a descriptor to read from, or -1 with errno set. Does not wait for a pipe's writer. Throws Error like
/// refuse_at_limit().
[[nodiscard]] int open_to_read(const std::filesystem::path& path);

/// Path of this program's executable. Throws Error (io_error).
[[nodiscard]] std::filesystem::path own_program();

/// $TMPDIR, else /tmp. Throws Error (cannot_create) if that is not a folder.
[[nodiscard]] std::filesystem::path folder_for_temporary_files();

/// Entries of `folder`, in no particular order; empty if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// The whole content of `file`; empty if it cannot be read.
[[nodiscard]] std::string contents_of(const std::filesystem::path& file);

/// First line of `file`, without the line break; empty if it cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// A name of 32 hexadecimal digits that is unique.
[[nodiscard]] std::string make_unique_id();

}  // namespace sluice
