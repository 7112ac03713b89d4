#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scheduler/verdict.hpp"

namespace sluice {

/// As docs/latency-table.md has it.
[[nodiscard]] nlohmann::json verdict_json(const Verdict& verdict);

}  // namespace sluice
