#pragma once

#include <span>
#include <string>

#include "tools/doctor/diagnose.hpp"

namespace sluice {

/// Human-readable: one line per finding, and their number.
[[nodiscard]] std::string doctor_text(const DoctorFacts& facts, std::span<const Finding> findings);

/// Findings and facts as one JSON object; keys: docs/doctor.md.
[[nodiscard]] std::string doctor_json(const DoctorFacts& facts, std::span<const Finding> findings);

}  // namespace sluice
