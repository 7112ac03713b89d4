#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "core/settings.hpp"

namespace sluice {

/// A key that every job has: the only place that knows it.
struct JobKey : KeySpec {
    /// Takes what read_value() gives for this key, paths resolved.
    void (*set)(const KeySpec&, JobConfig&, const SettingValue&) = nullptr;

    /// nullopt: the job leaves it out.
    std::optional<SettingValue> (*get)(const KeySpec&, const JobConfig&) = nullptr;
};

/// All of them, section by section, in the order of the documentation.
[[nodiscard]] std::span<const JobKey> job_keys();

/// The keys that a job may set: those of every job, and those of its app.
class JobSchema {
public:
    /// `app` is the job's; where no app is called so, the keys of all of them will do: the job is refused for that.
    JobSchema(std::span<const AppKeys> apps, std::string_view app);

    /// Those of the job's app.
    [[nodiscard]] std::span<const KeySpec* const> own_keys() const noexcept { return own_; }

    /// Null when the job may set no such key.
    [[nodiscard]] const KeySpec* find(std::string_view full_name) const;

    /// The apps that have such a key, though the job may not set it.
    [[nodiscard]] std::vector<std::string_view> other_owners_of(std::string_view full_name) const;

    /// The sections' names, without the empty one.
    [[nodiscard]] std::vector<std::string_view> sections() const;

    /// Whether the section `name` may stand above keys, also another app's, or other sections' names begin with it and
    /// a dot.
    [[nodiscard]] bool is_section(std::string_view name) const;

    /// "; did you mean 'chunk_items'?" or, for a key of another section, "; did you mean 'pipeline.depth'?", or, where
    /// the job may set no key like it, "; did you mean 'temperature', which only another app has?", or nothing.
    [[nodiscard]] std::string suggest(std::string_view section, std::string_view wrong_name) const;
    [[nodiscard]] std::string suggest(std::string_view wrong_full_name) const;

private:
    std::vector<const KeySpec*> keys_;
    std::vector<const KeySpec*> own_;
    std::vector<AppKeys> others_;
};

/// Of an app's key; nullopt: it has none.
[[nodiscard]] std::optional<SettingValue> default_value(const KeySpec& key);

/// A table of keys for a terminal: name, what it takes, default, meaning; first those of every job, then each app's
/// own.
[[nodiscard]] std::string describe_keys(std::span<const AppKeys> apps);

/// Its rows about `topic`: a section, an app, or a key with or without its section. "" if there is none.
[[nodiscard]] std::string describe_keys(std::span<const AppKeys> apps, std::string_view topic);

/// All topics of describe_keys(), in alphabetical order.
[[nodiscard]] std::vector<std::string> key_topics(std::span<const AppKeys> apps);

}  // namespace sluice
