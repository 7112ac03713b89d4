#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// A checkpoint's files: as named by the job, otherwise next to its weights. nullopt with random weights and no name.
struct Files {
    std::optional<std::filesystem::path> config;
    std::optional<std::filesystem::path> generation_config;  ///< Many checkpoints have none.
    std::optional<std::filesystem::path> tokenizer;          ///< Alternatively the next two.
    std::optional<std::filesystem::path> vocabulary;
    std::optional<std::filesystem::path> merges;
};

struct Options {
    TokenSampling sampling;  ///< Without `end`, which the checkpoint determines.
    AttentionMask mask = AttentionMask::causal;
    bool stops_at_end = true;
    bool cuts_prompts = false;  ///< Prompts that are too long keep their last tokens; otherwise they are refused.
    bool takes_ids = false;     ///< Prompts are token ids.
    bool gives_ids = false;     ///< Continuations are token ids.
    bool gives_log_probability = false;          ///< Of the continuation; needs TokenSampling::log_probabilities.
    bool gives_token_log_probabilities = false;  ///< Of each new token; needs TokenSampling::log_probabilities.
    std::vector<std::string> stops;              ///< A text ends before the first occurrence of any.
    Files files;
};

[[nodiscard]] std::span<const KeySpec> gpt2_keys();

/// Throws Error (configuration) if settings contradict each other.
[[nodiscard]] Options read_options(const AppSettings& settings);

}  // namespace sluice::gpt2
