#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/app.hpp"

namespace sluice::classifier {

/// The character-level CNN of Zhang, Zhao, LeCun 2015 with two layer norms, four classes. docs/classifier.md.
[[nodiscard]] const App& classifier_app();

/// Columns of a result's row besides the label.
struct ClassifierOutput {
    bool scores = false;                   ///< `output.scores`
    bool names = false;                    ///< `output.names`
    std::optional<std::string> weights{};  ///< File that names the classes; nullopt with random weights.
};

/// The app with its settings.
[[nodiscard]] std::unique_ptr<OpenApp> open_classifier(const ClassifierOutput& output);

[[nodiscard]] inline std::unique_ptr<OpenApp> open_classifier(bool scores) {
    return open_classifier(ClassifierOutput{.scores = scores});
}

}  // namespace sluice::classifier
