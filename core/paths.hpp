#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// What std::filesystem says by an exception of its own, which nobody would know how to explain to a user. A test keeps
// its throwing functions out of all other sources.

/// `path` from the root. Throws Error (no_input) where the working folder is gone or has no name.
[[nodiscard]] std::filesystem::path absolute_path(const std::filesystem::path& path);

/// `whole`, a path from the root, without "." and "..". As for the system, what follows a link leads on from its
/// target; other links stay as they are.
[[nodiscard]] std::filesystem::path without_dots(const std::filesystem::path& whole);

/// In bytes. Throws Error (no_input).
[[nodiscard]] std::uint64_t size_of_file(const std::filesystem::path& path);

/// "a folder", "a pipe", "a device" or "a socket", of what is no regular file.
[[nodiscard]] std::string_view kind_of_file(const struct ::stat& status);

/// Throws Error (out_of_memory, E-IO-005) if `error`, the errno of `operation` on `where`, is a limit of open files:
/// the path is not at fault.
void refuse_at_limit(const std::string& where, const char* operation, int error);

/// A descriptor to read from, or -1 and errno. Waits for no pipe's writer. Throws Error as refuse_at_limit.
[[nodiscard]] int open_to_read(const std::filesystem::path& path);

/// This program's own file. Throws Error (io_error).
[[nodiscard]] std::filesystem::path own_program();

/// $TMPDIR, else /tmp. Throws Error (cannot_create) where that is no folder.
[[nodiscard]] std::filesystem::path folder_for_temporary_files();

/// What lies in `folder`, in no order; empty where it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// All that the file holds; empty where it cannot be read.
[[nodiscard]] std::string contents_of(const std::filesystem::path& file);

/// Without its end; empty where the file cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// 32 hexadecimal digits that nobody else has, for a name.
[[nodiscard]] std::string make_unique_id();

}  // namespace sluice
