#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/counts.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/philox.hpp"

/// Continues texts token by token, straight in their results.
namespace sluice::decoder {

struct Chosen {
    std::uint32_t token;
    float log_probability;
    bool nonfinite;
    ChoiceDoubt doubt{};  ///< Unspecified with `nonfinite`, which makes everything doubtful.
};

/// Notes the choice that a draft's check makes, for its text's other checks to be made first.
__device__ inline void note(Text& text, const Chosen& chosen) {
    text.last = chosen.token;
    text.log_probability = chosen.log_probability;
    text.nonfinite = chosen.nonfinite ? 1U : 0U;
    text.doubt = chosen.doubt.doubt;
}

/// Appends a token to a text, or ends it; of a draft that is checked, notes the token only. Called by one thread.
__device__ inline void append(const Memory& memory, const Rule& rule, Text& text, const Chosen& chosen) {
    Batch& batch = *memory.batch;
    if (text.check != 0) {
        note(text, chosen);
        return;
    }
    const Continuation result = continuation_of(batch.out, rule, text.item);
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
        result.tokens[text.made] = chosen.token;
        if (rule.log_probabilities) {
            result.log_probabilities[text.made] = chosen.log_probability;
        }
        text.last = chosen.token;
        ++text.made;
    }
    if (!ends && text.made < rule.max_new) {
        return;
    }
    result.start = {.tokens = text.made, .prompt = text.prompt, .has_end = ends ? 1U : 0U, .nonfinite = text.nonfinite};
    if (batch.doubts != nullptr) {
        batch.doubts[text.item] = text.doubt;
    }
    add_counts(batch.counts, counts_of(prompt_of(batch.in, rule, text.item).start, result.start));
    text.complete = 1;
}

/// The text's own random number for its next token.
__device__ inline float uniform_of(const Rule& rule, const Text& text) {
    return uniform_below_one(random_words(rule.seed, {.item = text.number, .number = text.made}).words[0]);
}

}  // namespace sluice::decoder
