#pragma once

#include <string>

#include "tools/doctor/facts.hpp"

namespace sluice {

/// Facts of each topic in one line; empty if there are none.
[[nodiscard]] std::string launch_line(const DoctorFacts& facts);
[[nodiscard]] std::string cores_line(const DoctorFacts& facts);
[[nodiscard]] std::string gpus_line(const DoctorFacts& facts);
[[nodiscard]] std::string memory_line(const DoctorFacts& facts);
[[nodiscard]] std::string network_line(const DoctorFacts& facts);
[[nodiscard]] std::string clocks_line(const DoctorFacts& facts);
[[nodiscard]] std::string output_line(const DoctorFacts& facts);

}  // namespace sluice
