#pragma once

#include <string>

#include "core/config/config.hpp"

namespace sluice {

/// The whole configuration, defaults included, as JSON: an object of sections, which are objects of keys.
[[nodiscard]] std::string to_json_text(const JobConfig& job);

}  // namespace sluice
