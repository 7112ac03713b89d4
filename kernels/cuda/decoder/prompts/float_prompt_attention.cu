#include "kernels/cuda/decoder/prompts/prompt_attention.cuh"

#include "core/error.hpp"

namespace sluice::decoder {

void enqueue_float_prompt_attention(const Memory& memory, Precision precision, const Attention& attention,
                                    const Cache& cache, std::uint32_t layer, cudaStream_t stream) {
    expects(precision == Precision::tf32 || precision == Precision::tf32x3 || precision == Precision::fp16x2,
            "attention of prompts in fp32 rows: tf32, tf32x3 and fp16x2 only");
    if (precision == Precision::tf32) {
        launch_prompts_in<Precision::tf32>(memory, attention, cache, layer, stream);
    } else if (precision == Precision::fp16x2) {
        launch_prompts_in<Precision::fp16x2>(memory, attention, cache, layer, stream);
    } else {
        launch_prompts_in<Precision::tf32x3>(memory, attention, cache, layer, stream);
    }
}

}  // namespace sluice::decoder
