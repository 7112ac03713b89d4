#pragma once

#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sluice {

/// What the facts say, by topics: errors, warnings, and a line for each topic in which nothing is wrong. Pure.
/// docs/doctor.md lists all findings.
[[nodiscard]] std::vector<Finding> diagnose(const DoctorFacts& facts);

}  // namespace sluice
