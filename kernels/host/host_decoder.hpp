#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"
#include "kernels/host/aligned.hpp"
#include "kernels/host/invariant_product.hpp"

namespace sluice {

/// The decoder's weights, packed.
class HostDecoder {
public:
    struct Norm {
        PackedWeights::Room gamma;
        PackedWeights::Room beta;
    };

    struct Block {
        Norm attention_norm;
        InvariantMatrix attention;
        InvariantMatrix projection;
        Norm inner_norm;
        InvariantMatrix expansion;
        InvariantMatrix contraction;
    };

    /// Products with weights are in `precision`, fp32 or bf16.
    HostDecoder(Precision precision, const DecoderShape& shape, const DecoderWeights& weights, PackedWeights& packed);

    [[nodiscard]] Precision precision() const noexcept { return precision_; }
    [[nodiscard]] const DecoderShape& shape() const noexcept { return shape_; }
    [[nodiscard]] const Block& block(std::size_t layer) const { return blocks_.at(layer); }
    [[nodiscard]] const Norm& last_norm() const noexcept { return last_norm_; }
    [[nodiscard]] InvariantView head() const { return head_.view(); }

    /// to (width) = embedding of `token` + embedding of `position`, unless positions are rotary.
    void embed(std::uint32_t token, std::uint32_t position, float* to) const;

    /// Rotates the query and key heads of `row`, (attention width), by `position`. Requires rotary positions.
    void turn(std::uint32_t position, float* row) const;

private:
    [[nodiscard]] InvariantMatrix reserve(const DecoderLinear& linear, std::size_t inputs, std::size_t outputs,
                                          PackedWeights& packed) const;
    [[nodiscard]] Norm reserve(const DecoderNorm& norm, PackedWeights& packed) const;
    [[nodiscard]] WeightValues zeros(std::size_t count) const { return WeightValues(zeros_).subspan(0, count); }

    Precision precision_;
    DecoderShape shape_;
    std::vector<float> zeros_;  // stand in for absent biases until the weights are packed
    std::vector<Block> blocks_;
    Norm last_norm_;
    InvariantMatrix head_;
    PackedWeights::Room tokens_{};  // (vocabulary, width); only if the head has its own matrix
    bool has_own_head_;
    PackedWeights::Room positions_;  // (positions, width); rotary (positions, 2, head size / 2)
};

inline constexpr std::size_t cache_page = 16;  ///< Positions in a page.

/// Paged keys and values of many texts. A page holds cache_page positions in all layers, of one text, or of several
/// that are the same up to the page's end.
class KeyValueCache {
public:
    using Page = std::uint32_t;

    KeyValueCache(const DecoderShape& shape, std::size_t pages);

    [[nodiscard]] static std::uint64_t page_bytes(const DecoderShape& shape);
    [[nodiscard]] static std::size_t pages_for(std::size_t positions) {
        return (positions + cache_page - 1) / cache_page;
    }

    [[nodiscard]] std::size_t free_pages() const noexcept { return free_.size(); }

    /// Requires pages <= free_pages().
    [[nodiscard]] std::vector<Page> take(std::size_t pages);
    /// One more text has these pages, and gives them back.
    void share(std::span<const Page> pages);
    /// Pages that no other text has are free again.
    void give_back(std::span<const Page> pages);

    /// (head size, cache_page), of one key head in one layer.
    [[nodiscard]] float* keys(Page page, std::size_t layer, std::size_t head);
    /// (cache_page, head size), of one key head in one layer.
    [[nodiscard]] float* values(Page page, std::size_t layer, std::size_t head);

private:
    std::size_t heads_;
    std::size_t head_floats_;   // keys (or values) of one head in a page
    std::size_t layer_floats_;  // of one layer in a page
    std::size_t page_floats_;
    AlignedVector<float> floats_;
    std::vector<Page> free_;
    std::vector<std::uint32_t> texts_;  // that have a page
};

/// One token of a text in a forward pass.
struct DecoderRow {
    std::span<const KeyValueCache::Page> pages;  ///< Of the text.
    std::uint32_t position;
    std::uint32_t token;
    bool wants_scores;
    std::uint32_t attended;  ///< Positions, from the text's first on; more than `position`.
};

/// Forward passes of several rows at a time. A row's results do not depend on the others in the pass.
class DecoderRows {
public:
    /// `decoder` and `cache` outlive this object.
    DecoderRows(const HostDecoder& decoder, KeyValueCache& cache, std::size_t most_rows, std::size_t most_scores);

    /// Bytes of the buffers, without the products' workspace.
    [[nodiscard]] static std::uint64_t bytes(const DecoderShape& shape, std::size_t most_rows, std::size_t most_scores);

    /// The positions that a row attends to are in the cache or among the rows; the row's own keys and values are added
    /// to the cache. At most most_scores rows want scores.
    void pass(std::span<const DecoderRow> rows);

    /// (vocabulary), of row number `wanted` among those of the last pass that want scores.
    [[nodiscard]] const float* scores(std::size_t wanted) const;

private:
    void turn(std::span<const DecoderRow> rows);
    void remember(std::span<const DecoderRow> rows, std::size_t layer);
    void attend(std::span<const DecoderRow> rows, std::size_t layer);
    void attend(std::span<const DecoderRow> rows, std::size_t layer, std::size_t head, std::size_t first);
    void normalise(const HostDecoder::Norm& norm, std::size_t rows);
    void activate(std::size_t rows);
    void product(const InvariantMatrix& matrix, std::size_t rows, const float* in, AlignedVector<float>& out);
    void add_to_sums(std::size_t rows, const AlignedVector<float>& change);
    std::span<const DecoderRow> keep_wanted(std::span<const DecoderRow> rows);

    const HostDecoder& decoder_;
    KeyValueCache& cache_;
    std::size_t most_scores_;
    AlignedVector<float> sums_;     // (rows, width): the residual stream
    AlignedVector<float> normed_;   // (rows, width)
    AlignedVector<float> queries_;  // (rows, attention width): queries, keys, values
    AlignedVector<float> mixed_;    // (rows, queries' width), or (rows, width)
    AlignedVector<float> inner_;    // (rows, expanded width), then (rows, inner)
    AlignedVector<float> weights_;  // attention weights, (rows at once, positions rounded up to pages)
    AlignedVector<float> scores_;   // (most_scores, vocabulary)
    std::vector<DecoderRow> wanted_;
    InvariantProduct product_;
};

}  // namespace sluice
