#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/common_steps.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"

namespace sluice::decoder {

/// Attention of values of two bytes, from queries, keys and values to what projections take. In the last layer also the
/// rows that want scores.
class NarrowAttention {
public:
    NarrowAttention(const PassSetup& setup, const CommonSteps& common)
        : precision_(values_in(setup.precision)),
          memory_(setup.memory),
          common_(common),
          cache_(common.activations().cache),
          attention_(common.activations().attention(setup.shape, setup.sampling)) {
        if (memory_.long_prompt != no_prompt_is_long) {
            long_prompts_.emplace(memory_, precision_, attention_, setup.sizes.rows, cache_, setup.shape.layers);
        }
    }

    [[nodiscard]] AttendingLayer layer(std::uint32_t number) const {
        return {.attention = attention_, .cache = cache_, .number = number, .is_last = common_.is_last(number)};
    }

    void enqueue(std::uint32_t number, cudaStream_t stream, const PassWatch& watch) const {
        common_.rotate(stream, watch);
        if (common_.is_last(number)) {
            common_.write_cache(number, stream, watch);
            watch("attention to the cache");
            enqueue_cached_attention(memory_, precision_, attention_, cache_, number, Attending::wanted, stream);
            common_.gather_wanted(stream, watch);
            return;
        }
        watch("attention of prompts");
        enqueue_prompt_attention(memory_, precision_, attention_, cache_, number, stream);
        if (long_prompts_) {
            watch("attention of long prompts");
            long_prompts_->enqueue(number, stream);
        }
        watch("attention to the cache");
        enqueue_cached_attention(memory_, precision_, attention_, cache_, number, Attending::continued, stream);
    }

private:
    Precision precision_;
    Memory memory_;
    const CommonSteps& common_;
    const Cache& cache_;
    Attention attention_;
    std::optional<LongPromptAttention> long_prompts_;
};

}  // namespace sluice::decoder
