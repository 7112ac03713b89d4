#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/choose.hpp"
#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/rows.hpp"

namespace sluice::decoder {

/// Device memory for what flows through a pass; see Strides. Zero at first. In tf32x3 `normed`, `mixed` and `inner`,
/// which products take, are in two parts of fp16, in as many bytes as fp32.
struct Activations {
    explicit Activations(const PassSetup& setup)
        : strides(strides_of(setup.shape, setup.precision)),
          bests_only(leaves_bests_only(setup.precision, setup.sampling)),
          padded_slots(rounded_up_to_tile(setup.sizes.slots)),
          sums(of_values(setup, setup.sizes.rows, strides.width)),
          normed(of_values(setup, is_narrow(setup.precision) ? padded_slots : setup.sizes.rows, strides.width)),
          norm_scales(setup.device.allocate(MemorySpace::device,
                                            is_narrow(setup.precision) ? setup.sizes.rows * sizeof(float) : 0)),
          queries(of_values(setup, setup.sizes.rows, strides.queries)),
          mixed(of_values(setup, setup.sizes.rows, strides.width)),
          inner(of_values(setup, setup.sizes.rows, strides.inner)),
          wanted(of_values(setup, padded_slots, strides.width)),
          scores(setup.device.allocate(
              MemorySpace::device,
              padded_slots * (bests_only ? most_best_tiles(setup.shape.vocabulary) * sizeof(TileBest)
                                         : std::size_t{strides.vocabulary} * sizeof(float)))),
          cache_memory(setup.device.allocate(MemorySpace::device, std::size_t{2} * page_positions * setup.shape.width *
                                                                      setup.shape.layers * setup.sizes.pages *
                                                                      number_bytes(setup.precision))),
          cache{.values = cache_memory.bytes().data(), .pages = setup.sizes.pages, .width = setup.shape.width} {}

    [[nodiscard]] Attention attention(const DecoderShape& shape, const TokenSampling& sampling) const {
        const std::uint32_t size = shape.width / shape.heads;
        return {.queries = queries.bytes().data(),
                .out = mixed.bytes().data(),
                .stride = strides.queries,
                .out_stride = strides.width,
                .heads = shape.heads,
                .head_size = size,
                .positions = sampling.max_prompt + sampling.max_new,
                .scale = 1.0F / std::sqrt(static_cast<float>(size))};
    }

    [[nodiscard]] static std::uint32_t rounded_up_to_tile(std::uint32_t rows) { return (rows + 127) / 128 * 128; }

    Strides strides;
    bool bests_only;  ///< See leaves_bests_only().
    std::uint32_t padded_slots;
    Buffer sums;         ///< (rows, width): the residual stream.
    Buffer normed;       ///< (rows, width); in bf16 and fp16 (slots, width), for the head.
    Buffer norm_scales;  ///< (rows) fp32, in bf16 and fp16.
    Buffer queries;      ///< (rows, 3 width)
    Buffer mixed;        ///< (rows, width)
    Buffer inner;        ///< (rows, inner)
    Buffer wanted;       ///< (slots, width): in the last layer the sums of the rows that want scores.
    Buffer scores;       ///< (slots, vocabulary) fp32, or the tiles' TileBest
    Buffer cache_memory;
    Cache cache;

private:
    static Buffer of_values(const PassSetup& setup, std::uint32_t rows, std::uint32_t stride) {
        return setup.device.allocate(MemorySpace::device, std::size_t{rows} * stride * number_bytes(setup.precision));
    }
};

[[nodiscard]] inline const void* data_of(const Buffer& buffer) {
    return buffer.bytes().data();
}
[[nodiscard]] inline float* floats_of(const Buffer& buffer) {
    return buffer.as<float>().data();
}

}  // namespace sluice::decoder
