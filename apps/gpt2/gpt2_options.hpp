#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// Where a checkpoint's files are: as the job names them, else beside its weights. None where it has random weights and
/// names none.
struct Files {
    std::optional<std::filesystem::path> config;
    std::optional<std::filesystem::path> tokenizer;  ///< In its place the next two.
    std::optional<std::filesystem::path> vocabulary;
    std::optional<std::filesystem::path> merges;
};

struct Options {
    TokenSampling sampling;  ///< Without its end, which the checkpoint knows.
    bool stops_at_end = true;
    bool cuts_prompts = false;           ///< Those that are too long keep their last tokens; else they are refused.
    bool takes_ids = false;              ///< Prompts are token ids.
    bool gives_ids = false;              ///< Continuations are.
    bool gives_log_probability = false;  ///< Of a continuation. Needs TokenSampling::log_probabilities.
    bool gives_token_log_probabilities = false;  ///< Of each new token. Likewise.
    std::vector<std::string> stops;              ///< A text ends before the first of them.
    Files files;
};

[[nodiscard]] std::span<const KeySpec> gpt2_keys();

/// Throws Error (configuration) when they contradict each other.
[[nodiscard]] Options read_options(const AppSettings& settings);

}  // namespace sluice::gpt2
