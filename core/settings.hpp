#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

enum class KeyType {
    boolean,
    integer,
    real,      ///< A finite number; an integer is accepted.
    text,      ///< A string; one of `choices` when there are any.
    path,      ///< A string that names a file, from the job file's folder.
    columns,   ///< A list of column numbers and names.
    name,      ///< A string of letters, digits, `.`, `_`, `-` and those of `also`, of `least` to `most` bytes.
    words,     ///< A list of strings, each one of `choices` when there are any.
    duration,  ///< A string, "04:00:00" or "240s"; `least` and `most` are seconds.
};

/// What a key of the job file takes and means: all that parsing, 'did you mean', --set, help and tests know of it.
struct KeySpec {
    std::string_view section = {};  ///< Empty for a key above the first section.
    std::string_view name = {};
    KeyType type = KeyType::text;
    std::uint64_t least = 0;  ///< Range of an integer, of a column's number.
    std::uint64_t most = 0;   ///< Of a duration, 0: as long as durations are.
    double lowest = 0;        ///< Range of a real number, both ends included.
    double highest = 0;
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

    /// "\"auto\"", "required" or "none".
    [[nodiscard]] std::string_view default_text() const;
};

/// The keys that belong to one app: any section, no name of a key that every job has. A default is a TOML value; a key
/// without one that is not required is left out of the settings when the job does not set it. A path is a file that the
/// app reads. Both are static.
struct AppKeys {
    std::string_view app = {};
    std::span<const KeySpec> keys = {};
};

/// A column by number, counted from 1, or by name.
using ColumnRef = std::variant<std::uint32_t, std::string>;

/// What a key is set to, one alternative for each kind of value; the string also where `word` is given.
using SettingValue = std::variant<bool, std::uint64_t, double, std::chrono::seconds, std::string, std::filesystem::path,
                                  std::vector<ColumnRef>, std::vector<std::string>>;

/// What a job says to its app: the value of each of the app's keys, defaults included, paths resolved. Everything that
/// follows from an app's keys (run.toml, the plan, the run's identity, the tuning key) goes over all of them.
class AppSettings {
public:
    struct Entry {
        std::string name;  ///< "generate.temperature".
        SettingValue value;
        friend bool operator==(const Entry&, const Entry&) = default;
    };

    AppSettings() = default;
    explicit AppSettings(std::vector<Entry> entries) : entries_(std::move(entries)) {}

    [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }

    void set(std::string name, SettingValue value);

    /// Null when the job leaves out a key that has no default.
    [[nodiscard]] const SettingValue* find(std::string_view name) const noexcept;

    /// The value of a key that is there and holds a `Value`: bool, std::uint64_t, double, ….
    template <class Value>
    [[nodiscard]] const Value& get(std::string_view name) const {
        return std::get<Value>(at(name));
    }

    /// The job's weights file, where rank 0 opens the app, so that an app can find what lies beside it; null elsewhere,
    /// and where weights are random. Not among entries().
    [[nodiscard]] const std::filesystem::path* weights() const noexcept { return weights_ ? &*weights_ : nullptr; }
    void set_weights(std::optional<std::filesystem::path> weights) { weights_ = std::move(weights); }

    friend bool operator==(const AppSettings&, const AppSettings&) = default;

private:
    [[nodiscard]] const SettingValue& at(std::string_view name) const;

    std::vector<Entry> entries_;  // in the order of the app's keys
    std::optional<std::filesystem::path> weights_;
};

}  // namespace sluice
