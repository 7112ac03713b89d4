#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sluice::test {

/// What is wrong with `value` by a JSON schema, a line each: "/ranks/0/host: …". Knows those keywords of draft 2020-12
/// that docs/report.schema.json has; throws std::invalid_argument when it meets another one.
[[nodiscard]] std::vector<std::string> violations(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace sluice::test
