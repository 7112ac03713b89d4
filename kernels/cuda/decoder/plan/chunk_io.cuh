#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"

/// A chunk's items and results, which lie in memory as decoder_io() says.
namespace sluice::decoder {

struct Prompt {
    const PromptStart& start;
    const std::uint32_t* tokens;
};

[[nodiscard]] __device__ __forceinline__ Prompt prompt_of(const std::byte* items, const Rule& rule,
                                                          std::uint32_t item) {
    const std::byte* const at = items + std::size_t{item} * rule.io.input_bytes;
    return {*reinterpret_cast<const PromptStart*>(at),
            reinterpret_cast<const std::uint32_t*>(at + sizeof(PromptStart))};
}

struct Continuation {
    ContinuationStart& start;
    std::uint32_t* tokens;
    float* log_probabilities;  ///< Exist if Rule::log_probabilities.
};

[[nodiscard]] __device__ __forceinline__ Continuation continuation_of(std::byte* results, const Rule& rule,
                                                                      std::uint32_t item) {
    std::byte* const at = results + std::size_t{item} * rule.io.output_bytes;
    auto* const tokens = reinterpret_cast<std::uint32_t*>(at + sizeof(ContinuationStart));
    return {*reinterpret_cast<ContinuationStart*>(at), tokens, reinterpret_cast<float*>(tokens + rule.max_new)};
}

}  // namespace sluice::decoder
