#pragma once

#include <array>
#include <cstdint>

#include "apps/gpt2/config.hpp"

namespace sluice::gpt2 {

/// A Config as numbers only; all their bytes are part of the run's identity. Unused elements are 0.
using ConfigNumbers = std::array<std::uint32_t, 48>;

[[nodiscard]] ConfigNumbers numbers_of(const Config& config);
[[nodiscard]] Config config_of(const ConfigNumbers& numbers);

}  // namespace sluice::gpt2
