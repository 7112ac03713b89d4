#include "kernels/host/host_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "kernels/host/elementwise.hpp"
#include "kernels/host/row_sums.hpp"

namespace sluice {
namespace {

static_assert(cache_page == dot_width);

PackedWeights::Room reserve_floats(std::span<const float> values, PackedWeights& packed) {
    return packed.reserve(values.size_bytes(),
                          {[=](std::byte* room) { std::memcpy(room, values.data(), values.size_bytes()); }});
}

HostDecoder::Norm reserve_norm(const DecoderNorm& norm, PackedWeights& packed) {
    return {reserve_floats(norm.gamma, packed), reserve_floats(norm.beta, packed)};
}

InvariantMatrix reserve_linear(const DecoderLinear& linear, PackedWeights& packed) {
    const std::size_t outputs = linear.bias.size();
    const std::size_t inputs = linear.weights.size() / outputs;
    const auto rows = [=](std::size_t first, std::size_t count) {
        std::vector<float> transposed(count * inputs);
        for (std::size_t i = 0; i < inputs; ++i) {
            for (std::size_t r = 0; r < count; ++r) {
                transposed[r * inputs + i] = linear.weights[i * outputs + first + r];
            }
        }
        return transposed;
    };
    return reserve_invariant(inputs, rows, linear.bias, packed);
}

}  // namespace

HostDecoder::HostDecoder(const DecoderShape& shape, const DecoderWeights& weights, PackedWeights& packed)
    : shape_(shape), no_bias_(shape.vocabulary) {
    expects(shape.width % shape.heads == 0 && weights.blocks.size() == shape.layers,
            "decoder: as many blocks as it has layers, of whole heads");
    for (const DecoderBlockWeights& block : weights.blocks) {
        blocks_.push_back({reserve_norm(block.attention_norm, packed), reserve_linear(block.attention, packed),
                           reserve_linear(block.projection, packed), reserve_norm(block.inner_norm, packed),
                           reserve_linear(block.expansion, packed), reserve_linear(block.contraction, packed)});
    }
    last_norm_ = reserve_norm(weights.last_norm, packed);
    head_ = reserve_invariant(shape.width, weights.tokens, no_bias_, packed);
    positions_ = reserve_floats(weights.positions, packed);
}

void HostDecoder::embed(std::uint32_t token, std::uint32_t position, float* to) const {
    const InvariantView head = head_.view();
    const float* const of_token =
        head.weights + (token / invariant_panel) * shape_.width * invariant_panel + token % invariant_panel;
    const float* const of_position = positions_.floats() + std::size_t{position} * shape_.width;
    for (std::size_t i = 0; i < shape_.width; ++i) {
        to[i] = of_token[i * invariant_panel] + of_position[i];
    }
}

KeyValueCache::KeyValueCache(const DecoderShape& shape, std::size_t pages)
    : heads_(shape.heads),
      head_floats_(cache_page * (shape.width / shape.heads)),
      layer_floats_(2 * heads_ * head_floats_),
      page_floats_(shape.layers * layer_floats_),
      floats_(pages * page_floats_),
      free_(pages) {
    std::iota(free_.rbegin(), free_.rend(), Page{0});
}

std::uint64_t KeyValueCache::page_bytes(const DecoderShape& shape) {
    return std::uint64_t{2} * cache_page * shape.width * shape.layers * sizeof(float);
}

std::vector<KeyValueCache::Page> KeyValueCache::take(std::size_t pages) {
    expects(pages <= free_.size(), "key-value cache: more pages than are free");
    const auto first = free_.end() - static_cast<std::ptrdiff_t>(pages);
    std::vector<Page> taken(first, free_.end());
    free_.erase(first, free_.end());
    return taken;
}

void KeyValueCache::give_back(std::span<const Page> pages) {
    free_.insert(free_.end(), pages.begin(), pages.end());
}

float* KeyValueCache::keys(Page page, std::size_t layer, std::size_t head) {
    return &floats_[page * page_floats_ + layer * layer_floats_ + head * head_floats_];
}

float* KeyValueCache::values(Page page, std::size_t layer, std::size_t head) {
    return keys(page, layer, heads_ + head);
}

DecoderRows::DecoderRows(const HostDecoder& decoder, KeyValueCache& cache, std::size_t most_rows,
                         std::size_t most_scores)
    : decoder_(decoder),
      cache_(cache),
      most_scores_(most_scores),
      sums_(most_rows * decoder.shape().width),
      normed_(most_rows * decoder.shape().width),
      queries_(most_rows * 3 * decoder.shape().width),
      mixed_(most_rows * decoder.shape().width),
      inner_(most_rows * decoder.shape().inner),
      weights_(KeyValueCache::pages_for(decoder.shape().positions) * cache_page),
      scores_(most_scores * decoder.shape().vocabulary),
      product_(std::max(decoder.shape().width, decoder.shape().inner), most_rows) {
    wanted_.reserve(most_rows);
}

std::uint64_t DecoderRows::bytes(const DecoderShape& shape, std::size_t most_rows, std::size_t most_scores) {
    constexpr std::uint64_t of_width = 6;
    return sizeof(float) * (most_rows * (of_width * shape.width + shape.inner) +
                            most_scores * std::uint64_t{shape.vocabulary} + shape.positions);
}

const float* DecoderRows::scores(std::size_t wanted) const {
    return &scores_[wanted * decoder_.shape().vocabulary];
}

void DecoderRows::pass(std::span<const DecoderRow> rows) {
    const DecoderShape& shape = decoder_.shape();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        decoder_.embed(rows[i].token, rows[i].position, &sums_[i * shape.width]);
    }
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
        const HostDecoder::Block& block = decoder_.block(layer);
        normalise(block.attention_norm, rows.size());
        product(block.attention, rows.size(), normed_.data(), queries_);
        remember(rows, layer);
        if (layer + 1 == shape.layers) {
            rows = keep_wanted(rows);
        }
        attend(rows, layer);
        product(block.projection, rows.size(), mixed_.data(), normed_);
        add_to_sums(rows.size(), normed_);
        normalise(block.inner_norm, rows.size());
        product(block.expansion, rows.size(), normed_.data(), inner_);
        gelu_all(rows.size() * shape.inner, inner_.data());
        product(block.contraction, rows.size(), inner_.data(), mixed_);
        add_to_sums(rows.size(), mixed_);
    }
    normalise(decoder_.last_norm(), rows.size());
    product_(decoder_.head(), rows.size(), normed_.data(), scores_.data());
}

/// After the last layer's keys and values nothing is computed of the other rows.
std::span<const DecoderRow> DecoderRows::keep_wanted(std::span<const DecoderRow> rows) {
    const std::size_t width = decoder_.shape().width;
    wanted_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].wants_scores) {
            std::copy_n(&sums_[i * width], width, &sums_[wanted_.size() * width]);
            std::copy_n(&queries_[i * 3 * width], width, &queries_[wanted_.size() * 3 * width]);
            wanted_.push_back(rows[i]);
        }
    }
    expects(wanted_.size() <= most_scores_, "decoder: more rows want scores than there is room for");
    return wanted_;
}

void DecoderRows::product(const InvariantMatrix& matrix, std::size_t rows, const float* in, AlignedVector<float>& out) {
    product_(matrix.view(), rows, in, out.data());
}

void DecoderRows::add_to_sums(std::size_t rows, const AlignedVector<float>& change) {
    const std::size_t count = rows * decoder_.shape().width;
    for (std::size_t i = 0; i < count; ++i) {
        sums_[i] += change[i];
    }
}

void DecoderRows::normalise(const HostDecoder::Norm& norm, std::size_t rows) {
    const std::size_t width = decoder_.shape().width;
    for (std::size_t row = 0; row < rows; ++row) {
        layer_norm(width, decoder_.shape().norm_epsilon, norm.gamma.floats(), norm.beta.floats(), &sums_[row * width],
                   &normed_[row * width]);
    }
}

void DecoderRows::remember(std::span<const DecoderRow> rows, std::size_t layer) {
    const std::size_t width = decoder_.shape().width;
    const std::size_t heads = decoder_.shape().heads;
    const std::size_t size = width / heads;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const KeyValueCache::Page page = rows[i].pages[rows[i].position / cache_page];
        const std::size_t place = rows[i].position % cache_page;
        const float* const key = &queries_[(3 * i + 1) * width];
        const float* const value = key + width;
        for (std::size_t head = 0; head < heads; ++head) {
            float* const keys = cache_.keys(page, layer, head);
            for (std::size_t d = 0; d < size; ++d) {
                keys[d * cache_page + place] = key[head * size + d];
            }
            std::copy_n(value + head * size, size, cache_.values(page, layer, head) + place * size);
        }
    }
}

void DecoderRows::attend(std::span<const DecoderRow> rows, std::size_t layer) {
    const std::size_t width = decoder_.shape().width;
    const std::size_t heads = decoder_.shape().heads;
    const std::size_t size = width / heads;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t head = 0; head < heads; ++head) {
            attend(rows[i], layer, head, &queries_[3 * i * width + head * size], &mixed_[i * width + head * size]);
        }
    }
}

void DecoderRows::attend(const DecoderRow& row, std::size_t layer, std::size_t head, const float* query, float* to) {
    const std::size_t size = decoder_.shape().width / decoder_.shape().heads;
    const std::size_t positions = row.position + std::size_t{1};
    const std::size_t pages = KeyValueCache::pages_for(positions);
    const float scale = 1.0F / std::sqrt(static_cast<float>(size));
    for (std::size_t page = 0; page < pages; ++page) {
        dot_columns(size, query, cache_.keys(row.pages[page], layer, head), &weights_[page * cache_page]);
    }
    const float largest =
        *std::max_element(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(positions));
    for (std::size_t p = 0; p < positions; ++p) {
        weights_[p] = (weights_[p] - largest) * scale;
    }
    exp_all(positions, weights_.data(), weights_.data());
    const float sum =
        std::accumulate(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(positions), 0.0F);
    std::fill_n(to, size, 0.0F);
    for (std::size_t page = 0; page < pages; ++page) {
        const std::size_t first = page * cache_page;
        add_weighted_rows(std::min(cache_page, positions - first), size, &weights_[first],
                          cache_.values(row.pages[page], layer, head), to);
    }
    for (std::size_t d = 0; d < size; ++d) {
        to[d] /= sum;
    }
}

}  // namespace sluice
