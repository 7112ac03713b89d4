#pragma once

#include <vector>

#include "core/commit/file_effect.hpp"

namespace sluice {

/// From now on everything that core/commit does to files is kept; what was kept before is forgotten.
void start_keeping_effects();

/// In the order in which it happened.
[[nodiscard]] std::vector<FileEffect> kept_effects();

/// How many there are.
[[nodiscard]] std::size_t count_kept_effects();

void stop_keeping_effects();

}  // namespace sluice
