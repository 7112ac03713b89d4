#pragma once

#include <array>
#include <cstdint>

#include "apps/gpt2/config.hpp"

namespace sluice::gpt2 {

/// A Config as numbers only, the same wherever it lay: a run's identity has all of their bytes. Zeros behind the last.
using ConfigNumbers = std::array<std::uint32_t, 32>;

[[nodiscard]] ConfigNumbers numbers_of(const Config& config);
[[nodiscard]] Config config_of(const ConfigNumbers& numbers);

}  // namespace sluice::gpt2
