#pragma once

#include <span>
#include <string>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sluice {

/// For people: a line a finding, and how many there are.
[[nodiscard]] std::string doctor_text(const DoctorFacts& facts, std::span<const Finding> findings);

/// The same, and the facts, as one JSON object; docs/doctor.md has its keys.
[[nodiscard]] std::string doctor_json(const DoctorFacts& facts, std::span<const Finding> findings);

}  // namespace sluice
