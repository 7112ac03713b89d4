#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/app.hpp"

namespace sluice {

/// The character-level CNN of Zhang, Zhao, LeCun 2015 with two layer norms, four classes. docs/classifier.md.
[[nodiscard]] const App& classifier_app();

/// What a result's row has beside the label.
struct ClassifierOutput {
    bool scores = false;                   ///< `output.scores`
    bool names = false;                    ///< `output.names`
    std::optional<std::string> weights{};  ///< The file that names the classes; none: random.
};

/// The same with its keys chosen.
[[nodiscard]] std::unique_ptr<OpenApp> open_classifier(const ClassifierOutput& output);

[[nodiscard]] inline std::unique_ptr<OpenApp> open_classifier(bool scores) {
    return open_classifier(ClassifierOutput{.scores = scores});
}

}  // namespace sluice
