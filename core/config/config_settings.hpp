#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/config/config.hpp"
#include "core/config/config_schema.hpp"

namespace sluice {

/// bool, an integer (a duration's seconds), a string ("auto" included), columns or words: what the key's type says.
using SettingValue = std::variant<bool, std::uint64_t, std::string, std::vector<ColumnRef>, std::vector<std::string>>;

/// A key that the job sets, its value within the key's own limits.
struct Setting {
    SettingValue value;
    std::string where;  ///< "job.toml:14:3" or "--set pipeline.depth=4"; escaped.
    bool from_command_line = false;
};

using Settings = std::map<const KeySpec*, Setting>;

}  // namespace sluice
