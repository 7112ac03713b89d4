#pragma once

#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/remedies.hpp"

namespace sluice {

/// Problems of each topic; empty if none. Pure. diagnose() combines them.
[[nodiscard]] std::vector<Finding> diagnose_launch(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_cores(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_gpus(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_memory(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_network(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_clocks(const DoctorFacts& facts);
[[nodiscard]] std::vector<Finding> diagnose_output(const DoctorFacts& facts);

/// Ranks known to MPI, if queried.
[[nodiscard]] std::optional<std::uint32_t> asked_world(const DoctorFacts& facts);

[[nodiscard]] Finding warning(const char* id, std::string what, std::string remedy);
[[nodiscard]] Finding error(const char* id, ExitCode code, std::string what, std::string remedy);

}  // namespace sluice
