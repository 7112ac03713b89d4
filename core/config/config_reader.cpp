#include "core/config/config_reader.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace sluice {
namespace {

const KeySpec& key_of(std::string_view full_name) {
    const KeySpec* key = find_key(full_name);
    expects(key != nullptr, "the schema knows every key that the job is built from");
    return *key;
}

}  // namespace

const Setting* SettingsReader::find(std::string_view full_name) const {
    const auto found = settings_.find(&key_of(full_name));
    return found == settings_.end() ? nullptr : &found->second;
}

const std::string& SettingsReader::where(std::string_view full_name) const {
    const Setting* setting = find(full_name);
    return setting == nullptr ? origin_.name : setting->where;
}

const std::string& SettingsReader::required(std::string_view full_name) const {
    const auto* value = get<std::string>(full_name);
    if (value == nullptr) {
        const KeySpec& key = key_of(full_name);
        refuse_job("E-CFG-013", origin_.name,
                   key.section.empty() ? fmt::format("{} is required", key.name)
                                       : fmt::format("[{}].{} is required", key.section, key.name));
    }
    return *value;
}

std::optional<std::uint32_t> SettingsReader::count(std::string_view full_name) const {
    const Setting* setting = find(full_name);
    const auto* value = setting == nullptr ? nullptr : std::get_if<std::uint64_t>(&setting->value);
    return value == nullptr ? std::nullopt : std::optional(static_cast<std::uint32_t>(*value));
}

}  // namespace sluice
