#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/diagnose.hpp"

namespace sluice::test {

/// A rank of a sound job: four cores of its own, a GPU near them.
[[nodiscard]] RankFacts sound_rank(std::uint32_t rank, std::uint32_t ranks_per_node);

/// `nodes` nodes with two ranks each, under srun.
[[nodiscard]] DoctorFacts sound(std::uint32_t nodes = 1, SlurmVersion version = {23, 11});

/// The same, computing on the host.
[[nodiscard]] DoctorFacts sound_host();

/// All findings but those that say that all is well.
[[nodiscard]] std::vector<Finding> wrong(const DoctorFacts& facts);

/// Expects exactly one finding, with this id.
Finding only(const DoctorFacts& facts, const std::string& id);

}  // namespace sluice::test
