#pragma once

#include <vector>

#include "core/commit/file_effect.hpp"

namespace sluice {

/// Starts recording what core/commit does to files; discards earlier records.
void start_keeping_effects();

/// In chronological order.
[[nodiscard]] std::vector<FileEffect> kept_effects();

/// Number of recorded effects.
[[nodiscard]] std::size_t count_kept_effects();

void stop_keeping_effects();

}  // namespace sluice
