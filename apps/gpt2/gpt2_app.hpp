#pragma once

#include "core/app.hpp"

namespace sluice::gpt2 {

/// Continues prompts by a GPT-2, or a model that is built like Llama, of any size. docs/gpt2.md.
[[nodiscard]] const App& gpt2_app();

}  // namespace sluice::gpt2
