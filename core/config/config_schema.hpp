#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class KeyType {
    boolean,
    integer,
    text,      ///< A string; one of `choices` when there are any.
    path,      ///< A string that names a file.
    columns,   ///< A list of column numbers and names.
    name,      ///< A string of letters, digits, `.`, `_`, `-` and those of `also`, of at most `most` bytes.
    words,     ///< A list of strings, each one of `choices` when there are any.
    duration,  ///< A string, "04:00:00" or "240s".
};

/// One key of the job file: the only place that knows it. Parsing, 'did you mean', --set, help and tests read this.
struct KeySpec {
    std::string_view section = {};  ///< Empty for a key above the first section.
    std::string_view name = {};
    KeyType type = KeyType::text;
    std::uint64_t least = 0;  ///< Range of an integer, of a column's number.
    std::uint64_t most = 0;
    std::string_view word = {};  ///< The string that may stand for an integer or a duration, "auto".
    std::string_view also = {};  ///< Of a name.
    std::span<const std::string_view> choices = {};
    std::string_view fallback = {};  ///< The default as a TOML value, or in words; empty: see `required`.
    bool required = false;
    std::string_view help = {};

    /// "pipeline.depth", or "app".
    [[nodiscard]] std::string full_name() const;

    /// "an integer 1..1024 or "auto"".
    [[nodiscard]] std::string expected() const;
};

/// All keys, section by section, in the order of the documentation.
[[nodiscard]] std::span<const KeySpec> job_keys();

/// The sections' names, in the same order, without the empty one.
[[nodiscard]] std::vector<std::string_view> job_sections();

/// Whether the section `name` may stand above keys, or other sections' names begin with it and a dot.
[[nodiscard]] bool is_section(std::string_view name);

/// nullptr when there is no such key.
[[nodiscard]] const KeySpec* find_key(std::string_view section, std::string_view name);
[[nodiscard]] const KeySpec* find_key(std::string_view full_name);

/// "; did you mean 'chunk_items'?" or, for a key of another section, "; did you mean 'pipeline.depth'?", or nothing.
[[nodiscard]] std::string suggest_key(std::string_view section, std::string_view wrong_name);
[[nodiscard]] std::string suggest_key(std::string_view wrong_full_name);

/// A table of all keys for a terminal: name, what it takes, default, meaning.
[[nodiscard]] std::string describe_keys();

}  // namespace sluice
