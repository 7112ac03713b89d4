#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/token_sampling.hpp"

namespace sluice::decoder {

/// Whether there is a kernel by wgmma for prompts of such heads.
[[nodiscard]] constexpr bool has_long_prompts(Precision precision, std::uint32_t head_size) {
    return is_narrow(precision) && head_size == 64;
}

/// Memory::long_prompt: from 192 tokens on a prompt attends faster by wgmma. But passes without new prompts then have a
/// kernel more, for as many passes as tokens are made: it takes eight times as many tokens to be worth that.
[[nodiscard]] inline std::uint32_t long_prompt_on(const CudaDevice& device, Precision precision,
                                                  std::uint32_t head_size, const TokenSampling& sampling) {
    const std::uint64_t worth_it = std::max<std::uint64_t>(192, std::uint64_t{8} * sampling.max_new);
    const bool has_kernel =
        device.instructions() == MatrixInstructions::wgmma && has_long_prompts(precision, head_size);
    return has_kernel && sampling.max_prompt > worth_it ? static_cast<std::uint32_t>(worth_it) : no_prompt_is_long;
}

/// Attention of the rows of long prompts, as enqueue_prompt_attention() for the others, by wgmma: on compute capability
/// 9.0, in a build for 90a. Requires has_long_prompts().
class LongPromptAttention {
public:
    /// `attention.queries` has `rows` rows without gaps, the cache `layers` layers.
    /// Throws Error (unavailable) where the driver has no maps for copies.
    LongPromptAttention(const Memory& memory, Precision precision, const Attention& attention, std::uint32_t rows,
                        const Cache& cache, std::uint32_t layers);

    void enqueue(std::uint32_t layer, cudaStream_t stream) const;

private:
    Memory memory_;
    Precision precision_;
    Attention attention_;
    Cache cache_;
    CUtensorMap rows_;
    CUtensorMap cache_rows_;
};

}  // namespace sluice::decoder
