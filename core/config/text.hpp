#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

/// Bytes. A job of every key with its comments takes 3 KiB.
inline constexpr std::size_t largest_job_file = 64 * 1024;

/// Throws Error (configuration).
[[noreturn]] void refuse_job(const char* id, const std::string& where, std::string what, std::string hint = {});

/// The bytes of a regular file of at most `largest_job_file`. Throws Error (no_input, configuration, io_error).
[[nodiscard]] std::string read_job_text(const std::filesystem::path& file);

/// What the TOML parser must never see: more than 64 KiB, other encodings than UTF-8, NUL, keys of more than 16 parts
/// and brackets more than 32 deep. Linear time, no recursion. Returns the text without a byte order mark. `name` stands
/// for the source in messages. Throws Error (configuration).
[[nodiscard]] std::string_view check_job_text(std::string_view text, const std::string& name);

}  // namespace sluice
