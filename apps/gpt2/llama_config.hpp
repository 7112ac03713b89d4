#pragma once

#include "apps/gpt2/config.hpp"
#include "apps/gpt2/config_reader.hpp"

namespace sluice::gpt2 {

/// Whether the model_type is one of Family::llama: "llama", "mistral" or "qwen2".
[[nodiscard]] bool is_llama_config(const ConfigReader& reader);

/// Interprets the config like Hugging Face's classes of these names. Refuses what a DecoderShape cannot describe.
[[nodiscard]] Config read_llama_config(const ConfigReader& reader);

}  // namespace sluice::gpt2
