#pragma once

#include "core/app.hpp"

namespace sluice::gpt2 {

/// Continues prompts with a GPT-2 or Llama-like model of any size: docs/gpt2.md.
[[nodiscard]] const App& gpt2_app();

}  // namespace sluice::gpt2
