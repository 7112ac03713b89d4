#pragma once

#include "core/app.hpp"

namespace sluice {

/// The apps of the program `sluice`.
[[nodiscard]] const Apps& standard_apps();

}  // namespace sluice
