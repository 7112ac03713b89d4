#pragma once

#include "core/app.hpp"

namespace sluice {

[[nodiscard]] const App& minimal_app();

}  // namespace sluice
