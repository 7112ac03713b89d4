#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace sluice {

// Paths with wildcards, as of glob(7): `*`, `?` and `[...]` match characters of a name, but no slash, and no dot at a
// name's start. A backslash is a character like any other; in brackets of its own, a wildcard is one, too: `[*]`.

/// Whether `path` has a wildcard that is not in brackets of its own.
[[nodiscard]] bool has_wildcards(const std::filesystem::path& path);

/// What matches `path` and nothing else.
[[nodiscard]] std::filesystem::path as_pattern(const std::filesystem::path& path);

/// What `pattern` matches if it has no wildcards: as_pattern() undone.
[[nodiscard]] std::filesystem::path without_brackets(const std::filesystem::path& pattern);

/// `pattern`, which starts in `folder` if it is relative.
[[nodiscard]] std::filesystem::path pattern_in(const std::filesystem::path& folder,
                                               const std::filesystem::path& pattern);

/// `pattern` with what `change` makes of the folders before the first wildcard, of "." if there are none; of all of it
/// if it has no wildcards.
[[nodiscard]] std::filesystem::path change_pattern(
    const std::filesystem::path& pattern,
    const std::function<std::filesystem::path(const std::filesystem::path&)>& change);

/// Whether `pattern`, which has wildcards, matches `path` if that exists. By their names alone. Throws Error as
/// plain_path().
[[nodiscard]] bool would_match(const std::filesystem::path& pattern, const std::filesystem::path& path);

}  // namespace sluice
