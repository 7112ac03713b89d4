#include "tools/bench/decoder_options.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace sluice::bench {
namespace {

/// Of prompts of 16 tokens; "NAME=VALUE".
bool set_option(TokenSampling& sampling, std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
        return false;
    }
    const std::string_view name = word.substr(0, equals);
    const std::string value(word.substr(equals + 1));
    if (name == "temperature") {
        sampling.temperature = std::stof(value);
    } else if (name == "top_k") {
        sampling.top_k = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "top_p") {
        sampling.top_p = std::stof(value);
    } else if (name == "repetition_penalty") {
        sampling.repetition_penalty = std::stof(value);
    } else if (const auto cache = enum_of<KvCache>(value); name == "kv_cache" && cache) {
        sampling.kv_cache = *cache;
    } else {
        return false;
    }
    return true;
}

/// In "prefill=LEAST-MOST".
std::optional<PromptLengths> lengths_in(std::string_view word) {
    PromptLengths lengths;
    const bool is_whole = std::sscanf(std::string(word).c_str(), "prefill=%u-%u", &lengths.least, &lengths.most) == 2;
    const bool fits = lengths.least >= 1 && lengths.least <= lengths.most;
    return is_whole && fits ? std::optional(lengths) : std::nullopt;
}

/// In "prompts=N".
std::optional<std::uint32_t> prompts_in(std::string_view word) {
    std::uint32_t prompts = 0;
    const bool is_whole = std::sscanf(std::string(word).c_str(), "prompts=%u", &prompts) == 1;
    return is_whole && prompts > 0 ? std::optional(prompts) : std::nullopt;
}

/// In "instruction=TOKENS".
std::optional<std::uint32_t> instruction_in(std::string_view word) {
    std::uint32_t tokens = 0;
    const bool is_whole = std::sscanf(std::string(word).c_str(), "instruction=%u", &tokens) == 1;
    return is_whole && tokens > 0 ? std::optional(tokens) : std::nullopt;
}

}  // namespace

std::optional<DecoderBenchOptions> parse_decoder_bench(std::span<char* const> words) {
    constexpr std::string_view config_word = "config=";
    DecoderBenchOptions options;
    for (const std::string_view word : words) {
        if (const auto precision = enum_of<Precision>(word)) {
            options.precisions.push_back(*precision);
        } else if (word == "mma") {
            options.device.instructions = MatrixInstructions::mma;
        } else if (word == "long") {
            options.with_long = true;
        } else if (word == "prefill") {
            options.prefill.emplace();
        } else if (const auto lengths = lengths_in(word)) {
            options.prefill = lengths;
        } else if (const auto instruction = instruction_in(word)) {
            options.instruction = instruction;
        } else if (const auto prompts = prompts_in(word)) {
            options.prompts.push_back(*prompts);
        } else if (word == "passes") {
            options.with_chunks = false;
        } else if (word == "cache") {
            options.with_cache = true;
        } else if (word == "products") {
            options.with_products = true;
        } else if (word == "log_probabilities") {
            options.sampling.log_probabilities = true;
        } else if (word.starts_with(config_word)) {
            options.config = word.substr(config_word.size());
        } else if (word.ends_with(".safetensors")) {
            options.checkpoint = word;
        } else if (!set_option(options.sampling, word)) {
            return std::nullopt;
        }
    }
    return options;
}

}  // namespace sluice::bench
