#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/device/gpu_code.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/plan/plan_memory.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/decoder.hpp"

/// Sizes of a CUDA decoder, chosen before it is made.
namespace sluice::decoder {

/// Values from one row of a tensor to the next. In fp32 rows are padded with zeros as products require.
struct Strides {
    std::uint32_t width;
    std::uint32_t queries;  ///< Queries, keys and values.
    std::uint32_t mixed;    ///< As wide as queries.
    /// Input of the activation that makes `inner`. 0: the product activates, by whatever instructions. Where it does so
    /// by wgmma only, the buffer is not allocated.
    std::uint32_t expanded;
    std::uint32_t inner;
    std::uint32_t vocabulary;
};

/// Whether the expansion's product computes the contraction's input, by whatever instructions.
[[nodiscard]] constexpr bool activates_in_product(const DecoderShape& shape) {
    return !shape.gated && shape.activation == DecoderActivation::gelu_tanh;
}

/// The same by these instructions.
[[nodiscard]] constexpr bool activates_in_product(const DecoderShape& shape, Precision precision,
                                                  MatrixInstructions instructions) {
    return activates_in_product(shape) || (is_narrow(precision) && instructions == MatrixInstructions::wgmma &&
                                           (shape.gated || shape.activation == DecoderActivation::gelu_erf));
}

/// Whether the contraction's factors are in e4m3. What gates make has no bound by which it could be scaled.
[[nodiscard]] constexpr bool contracts_codes(const DecoderShape& shape, Precision precision) {
    return precision == Precision::fp8 && !shape.gated;
}

/// Bytes of an input of the contraction.
[[nodiscard]] constexpr std::size_t inner_value_bytes(const DecoderShape& shape, Precision precision) {
    return contracts_codes(shape, precision) ? 1 : number_bytes(values_in(precision));
}

/// Rows, and slots whose rows are a product's, are allocated in multiples of it.
inline constexpr std::uint32_t row_multiple = 128;

[[nodiscard]] Strides strides_of(const DecoderShape& shape, Precision precision);

/// What of the head's scores is enough for the next token and its outputs.
[[nodiscard]] constexpr KeptScores kept_scores(Precision precision, const TokenSampling& sampling) {
    if (precision == Precision::fp32 || sampling.repetition_penalty != 1) {
        return KeptScores::all;
    }
    if (sampling.temperature == 0) {
        return KeptScores::bests;
    }
    return sampling.top_k == 0 && sampling.top_p >= 1 ? KeptScores::sums : KeptScores::all;
}

/// Bytes of a row's sums beside what is kept of its scores: ScoreSums beside all of them, but not in fp32, and for
/// log-probabilities beside bests; for those of draws at other temperatures than 1 plain sums, in fp32.
[[nodiscard]] std::uint64_t score_sum_bytes(const DecoderShape& shape, const TokenSampling& sampling,
                                            Precision precision);

/// Bytes of what is kept of a row's scores, without those.
[[nodiscard]] std::uint64_t kept_score_bytes(const DecoderShape& shape, const TokenSampling& sampling,
                                             Precision precision);

/// Throws Error (unavailable) if a block that chooses a token of so many takes more shared memory than
/// `block_shared_bytes`, which a block may have on `device`.
void check_choice(std::uint32_t vocabulary, const TokenSampling& sampling, Precision precision,
                  std::uint32_t block_shared_bytes, std::string_view device);

/// Bytes of a page of the cache, in all layers.
[[nodiscard]] std::uint64_t page_bytes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision);

/// Bytes of a row's RowSums, or of its scale, which needs less; 0 in other precisions than bf16 and fp16.
[[nodiscard]] std::uint64_t row_sums_bytes(const DecoderShape& shape, Precision precision);

/// Bytes of a normalised row in e4m3; 0 in other precisions than fp8.
[[nodiscard]] constexpr std::uint64_t code_bytes(const DecoderShape& shape, Precision precision) {
    return precision == Precision::fp8 ? shape.width : 0;
}

/// On a GPU that computes by `instructions`; by mma.sync it is the most.
[[nodiscard]] std::uint64_t bytes_of(const Sizes& sizes, const DecoderShape& shape, const TokenSampling& sampling,
                                     Precision precision, MatrixInstructions instructions);

/// The smallest sizes that are used: at most 32 slots, and as few rows and pages as the longest text allows. Nothing is
/// shared.
[[nodiscard]] Sizes least_sizes(const TokenSampling& sampling, std::uint32_t most_items);

/// Within `device_bytes`, which is at least what least_sizes() takes: as many rows and texts as gain something on an
/// H200, but more than gain most of it only within a small share of the memory; and pages for all texts, or as there is
/// room, but at least for a quarter of the longest ones.
[[nodiscard]] Sizes choose_sizes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision,
                                 MatrixInstructions instructions, std::uint32_t most_items, std::uint64_t device_bytes);

}  // namespace sluice::decoder
