#pragma once

#include "core/app.hpp"

namespace sluice::gpt2 {

/// GPT-2 of any size: continues prompts. docs/gpt2.md.
[[nodiscard]] const App& gpt2_app();

}  // namespace sluice::gpt2
