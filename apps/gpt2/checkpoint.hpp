#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpt2/config.hpp"
#include "core/app.hpp"
#include "core/weights/tensor_file.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// All tensors of a model, in the order of its WeightBlob.
[[nodiscard]] std::vector<TensorSpec> tensors_of(const Config& config);

/// Whether a config.json describes `weights`: all but those of the 124M GPT-2 without a header. Opens a file whose name
/// does not tell. Throws Error (no_input, bad_data).
[[nodiscard]] bool has_config(const std::filesystem::path& weights);

/// `weights`: a safetensors file with Hugging Face's names, with or without the prefix "transformer." or "model."; an
/// index (.json) of a sharded checkpoint; or the tensors of the 124M GPT-2 without a header. `config` and `generation`
/// as for read_config(). Throws Error (no_input, bad_data, numeric, out_of_memory).
[[nodiscard]] WeightBlob read_checkpoint(const std::filesystem::path& weights,
                                         const std::optional<std::filesystem::path>& config,
                                         const std::optional<std::filesystem::path>& generation = {});

/// Random weights generated from `seed`; larger than GPT-2's own initialisation, which only repeats the last token.
/// Throws Error (out_of_memory).
[[nodiscard]] WeightBlob random_checkpoint(const Config& config, std::uint64_t seed);

[[nodiscard]] Config config_of(const WeightBlob& blob);
[[nodiscard]] DecoderWeights weights_of(const WeightBlob& blob);

}  // namespace sluice::gpt2
