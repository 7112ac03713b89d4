#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"

namespace sluice::test {

/// Bytes as GPT-2's files spell them.
[[nodiscard]] std::string spelt(std::string_view bytes);

/// All single bytes, "th", "the", " the" and "<|endoftext|>", ids in that order.
[[nodiscard]] std::vector<std::string> small_vocabulary();

/// As vocab.json has it.
[[nodiscard]] nlohmann::json spelt_vocabulary();

inline constexpr const char* small_merges = "#version: 0.2\nt h\nth e\n\u0120 the\n";

/// tokenizer.json of that vocabulary.
[[nodiscard]] nlohmann::json tokenizer_json();

/// The same as Llama 3's: words that are tokens are taken whole, and " the" begins every text.
[[nodiscard]] nlohmann::json llama_tokenizer_json();

/// As Qwen 2's, with an added token that is found in texts, "<think>" of id 260.
[[nodiscard]] nlohmann::json qwen_tokenizer_json();

/// A model of that vocabulary.
[[nodiscard]] gpt2::Config small_config();

/// A Llama of that vocabulary: grouped heads, a head of its own.
[[nodiscard]] gpt2::Config small_llama_config();

[[nodiscard]] nlohmann::json config_json(const gpt2::Config& config);

/// model.safetensors, config.json, vocab.json and merges.txt of a model with these weights. Tensors' names begin with
/// `prefix`, but for a head's.
void write_checkpoint(const std::filesystem::path& folder, const WeightBlob& weights, const std::string& prefix = {});

/// The tensors' values, in tensors_of()'s order.
[[nodiscard]] std::span<float> gpt2_values(const WeightBlob& weights);

}  // namespace sluice::test
