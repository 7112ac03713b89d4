#include "core/error.hpp"
#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"

namespace sluice::decoder {

LongPromptAttention::LongPromptAttention(const Memory&, Precision, const Attention&, std::uint32_t, const Cache&,
                                         std::uint32_t) {
    throw ContractViolation("attention of long prompts: not in this build");
}

void LongPromptAttention::enqueue(std::uint32_t, cudaStream_t) const {}

}  // namespace sluice::decoder
