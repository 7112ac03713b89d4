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
    boolean,   ///< bool.
    integer,   ///< std::uint64_t; a std::string for KeySpec::word.
    real,      ///< double, finite; an integer is accepted.
    text,      ///< std::string; one of `choices` if there are any.
    path,      ///< std::filesystem::path of a file, relative to the job file's folder.
    paths,     ///< A path or a pattern (core/config/file_pattern), or a list of them. No app's key has this type.
    columns,   ///< std::vector<ColumnRef>.
    name,      ///< std::string of letters, digits, `.`, `_`, `-` and `also`, `least` to `most` bytes long.
    words,     ///< std::vector<std::string>, each one of `choices` if there are any.
    duration,  ///< std::chrono::seconds from "04:00:00" or "240s", `least` to `most`; a std::string for KeySpec::word.
};

/// Specification of a key of the job file, used by parsing, 'did you mean', --set, help and tests.
struct KeySpec {
    std::string_view section = {};  ///< Empty for a top-level key.
    std::string_view name = {};
    KeyType type = KeyType::text;
    std::uint64_t least = 0;  ///< Range of an integer, a column's number, a name's length or a duration, ends included.
    std::uint64_t most = 0;   ///< For a duration, 0: unlimited.
    double lowest = 0;        ///< Range of a real number, both ends included.
    double highest = 0;
    std::string_view word = {};  ///< A string accepted in place of an integer or a duration, e.g. "auto".
    std::string_view also = {};  ///< Further characters of a name.
    std::span<const std::string_view> choices = {};
    std::string_view fallback = {};  ///< The default as a TOML value, or in words; empty: see `required`.
    bool required = false;
    std::string_view help = {};

    /// E.g. "pipeline.depth" or "app".
    [[nodiscard]] std::string full_name() const;

    /// What the key takes, e.g. an integer 1..1024 or "auto".
    [[nodiscard]] std::string expected() const;

    /// "\"auto\"", "required" or "none".
    [[nodiscard]] std::string_view default_text() const;
};

/// Keys of one app, in any section, none of them a key that every job has. Defaults are TOML values; an optional key
/// without a default is absent from the settings unless the job sets it. A path is a file that the app reads. Both
/// members refer to static storage.
struct AppKeys {
    std::string_view app = {};
    std::span<const KeySpec> keys = {};
};

/// A column by number, from 1, or by name.
using ColumnRef = std::variant<std::uint32_t, std::string>;

/// Value of a key: its KeyType says which alternative.
using SettingValue = std::variant<bool, std::uint64_t, double, std::chrono::seconds, std::string, std::filesystem::path,
                                  std::vector<ColumnRef>, std::vector<std::string>, std::vector<std::filesystem::path>>;

/// Values of an app's keys in a job, defaults included, paths resolved. Everything derived from an app's keys
/// (run.toml, the plan, the run's identity, the tuning key) iterates over all of them.
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

    /// Null if the job omits a key without a default.
    [[nodiscard]] const SettingValue* find(std::string_view name) const noexcept;
    template <class Value>
    [[nodiscard]] const Value* find(std::string_view name) const {
        const SettingValue* const value = find(name);
        return value == nullptr ? nullptr : &value_as<Value>(name, *value);
    }

    /// Value of a key that is present and holds a `Value`: bool, std::uint64_t, double, …. Throws ContractViolation if
    /// it does not.
    template <class Value>
    [[nodiscard]] const Value& get(std::string_view name) const {
        return value_as<Value>(name, at(name));
    }

    /// A number that is present. One that is not 0 does not become 0: at least the least normal float.
    [[nodiscard]] float get_float(std::string_view name) const;

    /// The job's weights file, so that an app can find files next to it. Null if weights are random, and on ranks other
    /// than 0. Not among entries().
    [[nodiscard]] const std::filesystem::path* weights() const noexcept { return weights_ ? &*weights_ : nullptr; }
    void set_weights(std::optional<std::filesystem::path> weights) { weights_ = std::move(weights); }

    friend bool operator==(const AppSettings&, const AppSettings&) = default;

private:
    [[nodiscard]] const SettingValue& at(std::string_view name) const;
    [[noreturn]] static void refuse_type(std::string_view name);

    template <class Value>
    [[nodiscard]] static const Value& value_as(std::string_view name, const SettingValue& value) {
        if (const Value* const held = std::get_if<Value>(&value)) {
            return *held;
        }
        refuse_type(name);
    }

    std::vector<Entry> entries_;  // in the order of the app's keys
    std::optional<std::filesystem::path> weights_;
};

}  // namespace sluice
