#pragma once

#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sluice {

/// Findings by topic: errors, warnings, and a line for each topic without either. Pure. docs/doctor.md lists all
/// findings.
[[nodiscard]] std::vector<Finding> diagnose(const DoctorFacts& facts);

}  // namespace sluice
