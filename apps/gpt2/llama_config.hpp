#pragma once

#include "apps/gpt2/config.hpp"
#include "apps/gpt2/config_reader.hpp"

namespace sluice::gpt2 {

/// Whether it is one of Family::llama, by its model_type: "llama", "mistral" or "qwen2".
[[nodiscard]] bool is_llama_config(const ConfigReader& reader);

/// What Hugging Face's classes of these names make of it, where the computation is a DecoderShape's.
[[nodiscard]] Config read_llama_config(const ConfigReader& reader);

}  // namespace sluice::gpt2
