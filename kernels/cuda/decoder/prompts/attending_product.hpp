#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/gemm/work.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/decoder_shape.hpp"
#include "kernels/token_sampling.hpp"

namespace sluice::decoder {

/// Whether queries, keys and values are made by an AttendingProduct: by wgmma, in bf16, fp16 and fp8, of heads of 64,
/// each with keys of its own, with nothing between the product and a causal attention, and a cache as computed.
[[nodiscard]] inline bool attends_in_product(const CudaDevice& device, Precision precision, const DecoderShape& shape,
                                             const TokenSampling& sampling) {
    return device.instructions() == MatrixInstructions::wgmma && is_narrow(precision) && shape.size_of_head() == 64 &&
           shape.heads_of_keys() == shape.heads && !shape.rotary && shape.mask == AttentionMask::causal &&
           sampling.kv_cache == KvCache::as_computed && sampling.max_prompt >= page_positions;
}

/// Where its results go: copies of boxes of 16 rows by 64 columns.
struct AttendingTarget {
    CUtensorMap rows;   // of queries, keys, values
    CUtensorMap mixed;  // attention's results
    CUtensorMap cache;  // keys and values of a layer
    const std::uint32_t* prompt_pages;
    float scale;  // of scores
    bool attends;
};

/// A layer's attention.
struct AttendingLayer {
    const Attention& attention;
    const Cache& cache;
    std::uint32_t number;
    /// Its attention takes the cache, from which all but queries come: these are left among the rows.
    bool is_last;
};

/// The product that makes queries, keys and values, as Gemm with the same bits, and for prompts with a page among
/// Memory::prompt_pages more: it writes their keys and values to the cache and attends, with the bits of
/// enqueue_prompt_attention(), instead of leaving them among the rows. In fp8 as Fp8Gemm with the tensor cores' sums.
/// On compute capability 9.0, in a build for 90a.
class AttendingProduct {
public:
    /// `product`: in place of its `out`, attention.queries; `sum_scale`: in fp8 Fp8GemmMemory::scale. Throws Error
    /// (unavailable) where the driver has no maps for copies.
    AttendingProduct(const Memory& memory, Precision precision, const AttendingLayer& layer, const GemmShape& shape,
                     const GemmMemory& product, const float* sum_scale = nullptr);

    void enqueue(cudaStream_t stream) const { work_->enqueue(stream); }

private:
    std::shared_ptr<const gemm::Work> work_;
};

}  // namespace sluice::decoder
