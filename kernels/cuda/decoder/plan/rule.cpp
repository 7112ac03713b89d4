#include "kernels/cuda/decoder/plan/batch.hpp"

namespace sluice::decoder {

Rule rule_of(const TokenSampling& sampling) {
    return {.seed = sampling.seed,
            .max_prompt = sampling.max_prompt,
            .max_new = sampling.max_new,
            .repetition_penalty = sampling.repetition_penalty,
            .temperature = sampling.temperature,
            .top_k = sampling.top_k,
            .top_p = sampling.top_p,
            .end = sampling.end,
            .log_probabilities = sampling.log_probabilities,
            .io = decoder_io(sampling)};
}

}  // namespace sluice::decoder
