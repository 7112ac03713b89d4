#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/modes.hpp"
#include "tools/bench/decoder_bench.hpp"

namespace sluice::bench {

struct PromptLengths {
    std::uint32_t least = 900;
    std::uint32_t most = small_gpt2.positions - 1;
};

/// What the command line of bench_decoder asks for.
struct DecoderBenchOptions {
    std::vector<Precision> precisions{};  ///< Empty: all that the GPU has.
    CudaDeviceOptions device{};
    TokenSampling sampling{.max_prompt = prompt_tokens, .max_new = new_tokens, .temperature = 0};
    std::vector<std::uint32_t> prompts{};  ///< Empty: the usual numbers.
    bool with_chunks = true;
    bool with_long = false;
    std::optional<PromptLengths> prefill{};
    std::optional<std::uint32_t> instruction{};
    bool with_cache = false;
    bool with_products = false;
    std::filesystem::path checkpoint{};  ///< Empty: none.
    std::filesystem::path config{};      ///< Empty: GPT-2 of 124M parameters.
};

/// Null if a word has no meaning.
[[nodiscard]] std::optional<DecoderBenchOptions> parse_decoder_bench(std::span<char* const> words);

}  // namespace sluice::bench
