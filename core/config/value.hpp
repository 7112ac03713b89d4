#pragma once

#include <toml++/toml.h>

#include <string>

#include "core/settings.hpp"

namespace sluice {

/// "job.toml:14:3".
[[nodiscard]] std::string place_of(const std::string& name, const toml::source_region& region);

/// "string '4'", "integer 0".
[[nodiscard]] std::string describe(const toml::node& node);

/// What `node` sets `key` to, within the key's own limits. `name` stands for the file in the places of list elements;
/// empty when `where` has no lines. Throws Error (configuration).
[[nodiscard]] SettingValue read_value(const KeySpec& key, const toml::node& node, const std::string& name,
                                      const std::string& where);

/// `value` as TOML that read_value() reads back to the same.
[[nodiscard]] std::string literal(const SettingValue& value);

}  // namespace sluice
