#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/settings.hpp"

namespace sluice {

/// "job.toml:14:3".
[[nodiscard]] std::string place_of(const std::string& name, const toml::source_region& region);

/// "string '4'", "integer 0".
[[nodiscard]] std::string describe(const toml::node& node);

/// Throws Error (configuration): "pipeline.depth: got GOT, expected an integer 1..1024", and what follows.
[[noreturn]] void refuse_value(const char* id, const KeySpec& key, const std::string& where, std::string_view got,
                               std::string_view what_follows = {});

/// What `node` sets `key` to, within the key's own limits. `name` stands for the file in the places of list elements;
/// empty when `where` has no lines. Throws Error (configuration).
[[nodiscard]] SettingValue read_value(const KeySpec& key, const toml::node& node, const std::string& name,
                                      const std::string& where);

/// `value` as TOML that read_value() reads back to the same.
[[nodiscard]] std::string literal(const SettingValue& value);

}  // namespace sluice
