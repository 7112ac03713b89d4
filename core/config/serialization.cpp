#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "core/config/file_pattern.hpp"
#include "core/config/schema.hpp"
#include "core/config/value.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

/// Keys and values, section by section.
class JobText {
public:
    void add(std::string_view section, std::string_view name, const SettingValue& value) {
        lines_of(section) += fmt::format("{} = {}\n", name, literal(value));
    }

    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [section, lines] : sections_) {
            text += section.empty() ? lines : fmt::format("\n[{}]\n{}", section, lines);
        }
        return text;
    }

private:
    std::string& lines_of(std::string_view section) {
        const auto found = std::ranges::find(sections_, section, &Section::first);
        return found == sections_.end() ? sections_.emplace_back(section, std::string()).second : found->second;
    }

    using Section = std::pair<std::string, std::string>;
    std::vector<Section> sections_;
};

}  // namespace

std::string to_toml(const JobConfig& job) {
    JobText text;
    for (const JobKey& key : job_keys()) {
        if (const std::optional<SettingValue> value = key.get(key, job)) {
            text.add(key.section, key.name, *value);
        }
    }
    for (const AppSettings::Entry& entry : job.settings.entries()) {
        const std::string_view name = entry.name;
        const std::size_t dot = name.rfind('.');
        text.add(name.substr(0, dot), name.substr(dot + 1), entry.value);
    }
    return text.text();
}

std::string to_json_text(const JobConfig& job) {
    std::ostringstream text;
    text << toml::json_formatter(toml::parse(to_toml(job)));
    return text.str();
}

void change_paths(JobConfig& job, const std::function<std::filesystem::path(const std::filesystem::path&)>& change) {
    for (const JobKey& key : job_keys()) {
        std::optional<SettingValue> value = key.get(key, job);
        if (!value) {
            continue;
        }
        if (auto* const path = std::get_if<std::filesystem::path>(&*value)) {
            key.set(key, job, change(*path));
        } else if (auto* const patterns = std::get_if<std::vector<std::filesystem::path>>(&*value)) {
            for (std::filesystem::path& pattern : *patterns) {
                pattern = change_pattern(pattern, change);
            }
            key.set(key, job, *value);
        }
    }
    AppSettings settings;
    for (const AppSettings::Entry& entry : job.settings.entries()) {
        const auto* const path = std::get_if<std::filesystem::path>(&entry.value);
        settings.set(entry.name, path == nullptr ? entry.value : change(*path));
    }
    job.settings = std::move(settings);
}

std::optional<SettingValue> default_value(const KeySpec& key) {
    if (key.fallback.empty()) {
        return std::nullopt;
    }
    const auto refuse = [&](std::string_view why) {
        return ContractViolation(fmt::format("the default of the app's key '{}', {}, cannot be read: {}",
                                             key.full_name(), key.fallback, why));
    };
    try {
        const toml::table table = toml::parse(fmt::format("v = {}", key.fallback));
        return read_value(key, *table.get("v"), {}, key.full_name());
    } catch (const toml::parse_error& error) {
        throw refuse(error.description());
    } catch (const Error& error) {
        throw refuse(error.text().what);
    }
}

AppSettings default_settings(std::span<const KeySpec> keys) {
    AppSettings settings;
    for (const KeySpec& key : keys) {
        if (std::optional<SettingValue> value = default_value(key)) {
            settings.set(key.full_name(), std::move(*value));
        }
    }
    return settings;
}

std::string encode(const AppSettings& settings) {
    std::string text;
    for (const AppSettings::Entry& entry : settings.entries()) {
        text += fmt::format("{} = {}\n", toml_string(entry.name), literal(entry.value));
    }
    return text;
}

AppSettings decode_settings(const std::string& text, std::span<const KeySpec> keys) {
    const toml::table table = toml::parse(text);
    AppSettings settings;
    for (const KeySpec& key : keys) {
        if (const toml::node* const node = table.get(key.full_name())) {
            settings.set(key.full_name(), read_value(key, *node, {}, key.full_name()));
        }
    }
    expects(settings.entries().size() == table.size(), "settings hold a key that their app does not have");
    return settings;
}

}  // namespace sluice
