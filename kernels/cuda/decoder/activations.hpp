#pragma once

#include <cmath>
#include <cstdint>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/sampling.hpp"

namespace sluice::decoder {

/// Device memory of a pass's activations; see Strides. Initially zero. In tf32x3 and fp16x2 `normed`, `mixed` and
/// `inner`, which are inputs of products, are in parts, in as many bytes as fp32 (half_values.hpp). In fp8 values are
/// in bf16, unless said otherwise.
struct Activations {
    explicit Activations(const PassSetup& setup)
        : strides(strides_of(setup.shape, setup.precision)),
          kept(kept_scores(setup.precision, setup.sampling)),
          padded_slots(rounded_up(setup.sizes.slots, row_multiple)),
          sums(of_values(setup, setup.sizes.rows, strides.width)),
          normed(of_values(setup, is_narrow(setup.precision) ? padded_slots : setup.sizes.rows, strides.width)),
          row_sums(setup.device.allocate(MemorySpace::device,
                                         setup.sizes.rows * row_sums_bytes(setup.shape, setup.precision))),
          codes(
              setup.device.allocate(MemorySpace::device, setup.sizes.rows * code_bytes(setup.shape, setup.precision))),
          queries(of_values(setup, setup.sizes.rows, strides.queries)),
          mixed(of_values(setup, setup.sizes.rows, strides.mixed)),
          activated_in_product(
              activates_in_product(setup.shape, setup.precision, as_cuda(setup.device).instructions())),
          expanded(of_values(setup, setup.sizes.rows, activated_in_product ? 0 : strides.expanded)),
          inner(setup.device.allocate(MemorySpace::device, std::size_t{setup.sizes.rows} * strides.inner *
                                                               inner_value_bytes(setup.shape, setup.precision))),
          wanted(of_values(setup, padded_slots, strides.width)),
          scores(setup.device.allocate(MemorySpace::device,
                                       padded_slots * kept_score_bytes(setup.shape, setup.sampling, setup.precision))),
          sums_of_scores(setup.device.allocate(
              MemorySpace::device, padded_slots * score_sum_bytes(setup.shape, setup.sampling, setup.precision))),
          cache_memory(setup.device.allocate(
              MemorySpace::device, setup.sizes.pages * page_bytes(setup.shape, setup.sampling, setup.precision))),
          cache(cache_in(cache_memory, setup)) {}

    [[nodiscard]] Attention attention(const DecoderShape& shape, const TokenSampling& sampling) const {
        const std::uint32_t size = shape.size_of_head();
        return {.queries = queries.bytes().data(),
                .out = mixed.bytes().data(),
                .stride = strides.queries,
                .out_stride = strides.mixed,
                .heads = shape.heads,
                .key_heads = shape.heads_of_keys(),
                .head_size = size,
                .positions = sampling.max_prompt + sampling.max_new,
                .scale = 1.0F / std::sqrt(static_cast<float>(size)),
                .mask = shape.mask};
    }

    /// Rotates the queries and keys of attention(). Requires rotary positions.
    [[nodiscard]] Rotation rotation(const DecoderShape& shape, const WeightsOnDevice& weights) const {
        return {.rows = queries.bytes().data(),
                .angles = weights.angles.as<float>().data(),
                .stride = strides.queries,
                .heads = shape.heads + shape.heads_of_keys(),
                .head_size = shape.size_of_head()};
    }

    /// Of all scores.
    [[nodiscard]] ScoredRows scored_rows(std::uint32_t vocabulary) const {
        return {.scores = scores.as<float>().data(),
                .sums = sums_beside<ScoreSum>(),
                .vocabulary = vocabulary,
                .stride = strides.vocabulary};
    }

    /// Sums beside what is kept of the scores, ScoreSum or float; null: there are none.
    template <class Sum>
    [[nodiscard]] Sum* sums_beside() const {
        return sums_of_scores.bytes().empty() ? nullptr : sums_of_scores.as<Sum>().data();
    }

    /// The keys of the first row.
    [[nodiscard]] const void* keys(const DecoderShape& shape, Precision precision) const {
        return queries.bytes().data() + std::size_t{shape.query_width()} * number_bytes(precision);
    }

    /// From `expanded` to `inner`, of the first `*rows` rows.
    [[nodiscard]] InnerActivation inner_activation(const DecoderShape& shape, std::uint32_t most_rows,
                                                   const std::uint32_t* rows) const {
        return {.from = expanded.bytes().data(),
                .to = inner.bytes().data(),
                .inner = shape.inner,
                .from_stride = strides.expanded,
                .to_stride = strides.inner,
                .activation = shape.activation,
                .gated = shape.gated,
                .most_rows = most_rows,
                .rows = rows};
    }

    Strides strides;
    KeptScores kept;
    std::uint32_t padded_slots;
    Buffer sums;                ///< (rows, width): the residual stream.
    Buffer normed;              ///< (rows, width); where values have two bytes (slots, width), for the head.
    Buffer row_sums;            ///< In bf16 and fp16 (rows, width / summed_values), or scales of rows, (rows) fp32.
    Buffer codes;               ///< In fp8 (rows, width) e4m3, normalised.
    Buffer queries;             ///< (rows, attention width): queries, keys, values
    Buffer mixed;               ///< (rows, queries' width): attention's results.
    bool activated_in_product;  ///< See activates_in_product().
    Buffer expanded;            ///< (rows, expanded width); empty if the product activates.
    Buffer inner;               ///< (rows, inner); e4m3 if contracts_codes().
    Buffer wanted;              ///< (slots, width): in the last layer, the sums of the rows that want scores.
    Buffer scores;              ///< (slots, vocabulary) fp32, or what is `kept` of them.
    Buffer sums_of_scores;      ///< (slots, groups_of(vocabulary)): beside those; see score_sum_bytes().
    Buffer cache_memory;
    Cache cache;

private:
    static Buffer of_values(const PassSetup& setup, std::uint32_t rows, std::uint32_t stride) {
        return setup.device.allocate(MemorySpace::device,
                                     std::size_t{rows} * stride * number_bytes(values_in(setup.precision)));
    }

    /// With a quantised cache the scales follow all keys and values.
    static Cache cache_in(const Buffer& memory, const PassSetup& setup) {
        const DecoderShape& shape = setup.shape;
        Cache cache{.values = memory.bytes().data(), .pages = setup.sizes.pages, .width = shape.key_width()};
        cache.kind = setup.sampling.kv_cache;
        if (cache.kind != KvCache::as_computed) {
            cache.scales = memory.as<std::uint8_t>().data() +
                           std::size_t{2} * page_positions * shape.key_width() * shape.layers * setup.sizes.pages;
            cache.head_size = shape.size_of_head();
        }
        return cache;
    }
};

[[nodiscard]] inline const void* data_of(const Buffer& buffer) {
    return buffer.bytes().data();
}
[[nodiscard]] inline float* floats_of(const Buffer& buffer) {
    return buffer.as<float>().data();
}

}  // namespace sluice::decoder
