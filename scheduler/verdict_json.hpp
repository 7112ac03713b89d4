#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scheduler/verdict.hpp"

namespace sluice {

/// Schema: docs/latency-table.md.
[[nodiscard]] nlohmann::json verdict_json(const Verdict& verdict);

}  // namespace sluice
