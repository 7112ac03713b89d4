#pragma once

#include <memory>

#include "core/app.hpp"

namespace sluice {

/// The character-level CNN of Zhang, Zhao, LeCun 2015 with two layer norms, four classes. docs/classifier.md.
[[nodiscard]] const App& classifier_app();

/// The same with `output.scores` chosen.
[[nodiscard]] std::unique_ptr<OpenApp> open_classifier(bool scores);

}  // namespace sluice
