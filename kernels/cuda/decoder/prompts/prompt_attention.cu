#include "kernels/cuda/decoder/prompts/prompt_attention.cuh"

#include "core/error.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"

namespace sluice::decoder {

void enqueue_prompt_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, cudaStream_t stream) {
    expects(is_narrow(precision), "attention of prompts: bf16 and fp16 only");
    if (precision == Precision::bf16) {
        launch_prompts_in<Precision::bf16>(memory, attention, cache, layer, stream);
    } else {
        launch_prompts_in<Precision::fp16>(memory, attention, cache, layer, stream);
    }
}

}  // namespace sluice::decoder
