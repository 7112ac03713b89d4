#pragma once

#include "core/app.hpp"

namespace sluice {

/// The character-level CNN of Zhang, Zhao, LeCun 2015 with two layer norms, four classes. docs/classifier.md.
[[nodiscard]] const App& classifier_app();

}  // namespace sluice
