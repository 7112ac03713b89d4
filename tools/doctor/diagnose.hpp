#pragma once

#include <span>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sluice {

/// Findings by topic: errors, warnings, and a line for each topic without either. Pure. docs/doctor.md lists all
/// findings.
[[nodiscard]] std::vector<Finding> diagnose(const DoctorFacts& facts);

/// Code of the first error; ok if there is none.
[[nodiscard]] ExitCode code_of(std::span<const Finding> findings);

}  // namespace sluice
