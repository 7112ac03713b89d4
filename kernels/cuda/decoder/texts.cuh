#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/counts.cuh"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/philox.hpp"

/// Continues texts token by token, straight in their results.
namespace sluice::decoder {

struct Chosen {
    std::uint32_t token;
    float log_probability;
    bool nonfinite;
    ChoiceDoubt doubt{};  ///< Unspecified with `nonfinite`, which makes everything doubtful.
};

/// `doubt` is not negative, unless it is NaN or `refuted`: the order of bits is that of values.
__device__ inline void lower(float& to, float doubt) {
    atomicMin(reinterpret_cast<int*>(&to), __float_as_int(doubt >= 0 ? doubt : refuted));
}

/// Compares a choice with the draft's. Called by one thread; others may check other choices of the same text.
__device__ inline void check(const Memory& memory, const Rule& rule, const Text& text, const Chosen& chosen) {
    const Batch& batch = *memory.batch;
    const std::byte* const result = batch.out + std::size_t{text.item} * rule.io.output_bytes;
    const auto& start = *reinterpret_cast<const ContinuationStart*>(result);
    const auto* const tokens = reinterpret_cast<const std::uint32_t*>(result + sizeof(ContinuationStart));
    const bool is_drafted =
        text.made < start.tokens ? chosen.token == tokens[text.made] : rule.end.contains(chosen.token);
    const bool agrees = is_drafted && !chosen.nonfinite;
    TextDoubt& doubt = batch.doubts[text.item];
    lower(doubt.distance, agrees ? chosen.doubt.doubt.distance : refuted);
    lower(doubt.gap, agrees ? chosen.doubt.doubt.gap : refuted);
}

/// Appends a token to a text, or ends it; if the text is a draft, checks the token. Called by one thread.
__device__ inline void append(const Memory& memory, const Rule& rule, Text& text, const Chosen& chosen) {
    Batch& batch = *memory.batch;
    if (batch.checks != nullptr) {
        check(memory, rule, text, chosen);
        return;
    }
    std::byte* const result = batch.out + std::size_t{text.item} * rule.io.output_bytes;
    auto* const tokens = reinterpret_cast<std::uint32_t*>(result + sizeof(ContinuationStart));
    text.nonfinite |= chosen.nonfinite ? 1U : 0U;
    ChoiceDoubt doubt = chosen.doubt;
    if (chosen.nonfinite) {
        doubt.doubt = {.distance = NAN, .gap = NAN};
    }
    text.doubt = least(text.doubt, doubt.doubt);
    if (batch.choices != nullptr) {
        batch.choices[std::size_t{text.item} * rule.max_new + text.made] = doubt;
    }
    const bool ends = rule.end.contains(chosen.token);
    if (!ends) {
        tokens[text.made] = chosen.token;
        if (rule.log_probabilities) {
            reinterpret_cast<float*>(tokens)[rule.max_new + text.made] = chosen.log_probability;
        }
        text.last = chosen.token;
        ++text.made;
    }
    if (!ends && text.made < rule.max_new) {
        return;
    }
    *reinterpret_cast<ContinuationStart*>(result) = {
        .tokens = text.made, .prompt = text.prompt, .has_end = ends ? 1U : 0U, .nonfinite = text.nonfinite};
    if (batch.doubts != nullptr) {
        batch.doubts[text.item] = text.doubt;
    }
    const auto& start = *reinterpret_cast<const PromptStart*>(batch.in + std::size_t{text.item} * rule.io.input_bytes);
    add_count(batch.counts.texts, 1);
    add_count(batch.counts.prompt_tokens, text.prompt);
    add_count(batch.counts.new_tokens, text.made);
    add_count(batch.counts.ended, ends ? 1 : 0);
    add_count(batch.counts.cut, start.is_cut != 0 ? 1 : 0);
    text.complete = 1;
}

/// The text's own random number for its next token.
__device__ inline float uniform_of(const Rule& rule, const Text& text) {
    return uniform_below_one(random_words(rule.seed, {.item = text.number, .number = text.made}).words[0]);
}

}  // namespace sluice::decoder
