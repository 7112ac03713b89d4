#include "kernels/host/host_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "kernels/host/pack.hpp"
#include "kernels/rotary.hpp"

namespace sluice {
namespace {

/// Rows, one for each output, of a by_inputs matrix.
WeightRows rows_across(const WeightValues& weights, std::size_t inputs, std::size_t outputs) {
    return [=](std::size_t first, std::size_t count) {
        std::vector<float> of_input(count);
        std::vector<float> transposed(count * inputs);
        for (std::size_t i = 0; i < inputs; ++i) {
            weights.subspan(i * outputs + first, count).read(of_input.data());
            for (std::size_t r = 0; r < count; ++r) {
                transposed[r * inputs + i] = of_input[r];
            }
        }
        return transposed;
    };
}

PackedWeights::Room reserve_rotary(const DecoderShape& shape, PackedWeights& packed) {
    return packed.reserve(rotary_floats(shape) * sizeof(float), {[shape](std::byte* room) {
                              const std::vector<float> table = rotary_table(shape);
                              std::memcpy(room, table.data(), table.size() * sizeof(float));
                          }});
}

std::size_t widest(const DecoderShape& shape) {
    return std::max({shape.vocabulary, shape.width, shape.attention_width(), shape.expanded_width()});
}

}  // namespace

InvariantMatrix HostDecoder::reserve(const DecoderLinear& linear, std::size_t inputs, std::size_t outputs,
                                     PackedWeights& packed) const {
    expects(linear.weights.size() == inputs * outputs && (linear.bias.empty() || linear.bias.size() == outputs),
            "decoder: a matrix of another size");
    const WeightValues bias = linear.bias.empty() ? zeros(outputs) : linear.bias;
    return linear.order == MatrixOrder::by_outputs
               ? reserve_invariant(precision_, inputs, linear.weights, bias, packed)
               : reserve_invariant(precision_, inputs, rows_across(linear.weights, inputs, outputs), bias, packed);
}

HostDecoder::Norm HostDecoder::reserve(const DecoderNorm& norm, PackedWeights& packed) const {
    return {reserve_copy(packed, norm.gamma),
            reserve_copy(packed, norm.beta.empty() ? zeros(shape_.width) : norm.beta)};
}

HostDecoder::HostDecoder(Precision precision, const DecoderShape& shape, const DecoderWeights& weights,
                         PackedWeights& packed)
    : precision_(precision), shape_(shape), zeros_(widest(shape)), has_own_head_(!weights.head.empty()) {
    expects(weights.blocks.size() == shape.layers && shape.heads % shape.heads_of_keys() == 0 &&
                (shape.head_size != 0 || shape.width % shape.heads == 0),
            "decoder: as many blocks as it has layers, of whole heads");
    const std::size_t width = shape.width;
    for (const DecoderBlockWeights& block : weights.blocks) {
        blocks_.push_back(
            {reserve(block.attention_norm, packed), reserve(block.attention, width, shape.attention_width(), packed),
             reserve(block.projection, shape.query_width(), width, packed), reserve(block.inner_norm, packed),
             reserve(block.expansion, width, shape.expanded_width(), packed),
             reserve(block.contraction, shape.inner, width, packed)});
    }
    last_norm_ = reserve(weights.last_norm, packed);
    head_ = reserve_invariant(precision, width, has_own_head_ ? weights.head : weights.tokens, zeros(shape.vocabulary),
                              packed);
    if (has_own_head_) {
        tokens_ = reserve_copy(packed, weights.tokens);
    }
    positions_ = shape.rotary ? reserve_rotary(shape, packed) : reserve_copy(packed, weights.positions);
}

void HostDecoder::embed(std::uint32_t token, std::uint32_t position, float* to) const {
    const std::size_t width = shape_.width;
    if (has_own_head_) {
        std::copy_n(tokens_.floats() + token * width, width, to);
    } else {
        const InvariantView head = head_.view();
        for (std::size_t i = 0; i < width; ++i) {
            to[i] = head.weight(token, i);
        }
    }
    if (!shape_.rotary) {
        const float* const of_position = positions_.floats() + position * width;
        for (std::size_t i = 0; i < width; ++i) {
            to[i] += of_position[i];
        }
    }
}

void HostDecoder::turn(std::uint32_t position, float* row) const {
    const std::size_t half = shape_.size_of_head() / 2;
    const float* const cosines = positions_.floats() + position * 2 * half;
    const float* const sines = cosines + half;
    const std::size_t heads = shape_.heads + shape_.heads_of_keys();
    for (std::size_t head = 0; head < heads; ++head) {
        float* const low = row + head * 2 * half;
        float* const high = low + half;
        for (std::size_t i = 0; i < half; ++i) {
            const float x = low[i];
            const float y = high[i];
            low[i] = x * cosines[i] - y * sines[i];
            high[i] = y * cosines[i] + x * sines[i];
        }
    }
}

KeyValueCache::KeyValueCache(const DecoderShape& shape, std::size_t pages)
    : heads_(shape.heads_of_keys()),
      head_floats_(cache_page * shape.size_of_head()),
      layer_floats_(2 * heads_ * head_floats_),
      page_floats_(shape.layers * layer_floats_),
      floats_(pages * page_floats_),
      free_(pages),
      texts_(pages) {
    std::iota(free_.rbegin(), free_.rend(), Page{0});
}

std::uint64_t KeyValueCache::page_bytes(const DecoderShape& shape) {
    return std::uint64_t{2} * cache_page * shape.key_width() * shape.layers * sizeof(float);
}

std::vector<KeyValueCache::Page> KeyValueCache::take(std::size_t pages) {
    expects(pages <= free_.size(), "key-value cache: more pages than are free");
    const auto first = free_.end() - static_cast<std::ptrdiff_t>(pages);
    std::vector<Page> taken(first, free_.end());
    free_.erase(first, free_.end());
    share(taken);
    return taken;
}

void KeyValueCache::share(std::span<const Page> pages) {
    for (const Page page : pages) {
        ++texts_[page];
    }
}

void KeyValueCache::give_back(std::span<const Page> pages) {
    for (const Page page : pages) {
        expects(texts_[page] > 0, "key-value cache: a page that is free");
        if (--texts_[page] == 0) {
            free_.push_back(page);
        }
    }
}

float* KeyValueCache::keys(Page page, std::size_t layer, std::size_t head) {
    return &floats_[page * page_floats_ + layer * layer_floats_ + head * head_floats_];
}

float* KeyValueCache::values(Page page, std::size_t layer, std::size_t head) {
    return keys(page, layer, heads_ + head);
}

}  // namespace sluice
