#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "kernels/host/elementwise.hpp"
#include "kernels/host/host_decoder.hpp"
#include "kernels/host/row_sums.hpp"

namespace sluice {
namespace {

static_assert(cache_page == dot_width);

std::uint32_t mixed_width(const DecoderShape& shape) {
    return std::max(shape.width, shape.query_width());
}

auto activation_of(DecoderActivation activation) {
    return activation == DecoderActivation::silu       ? &silu_all
           : activation == DecoderActivation::gelu_erf ? &gelu_erf_all
                                                       : &gelu_all;
}

}  // namespace

DecoderRows::DecoderRows(const HostDecoder& decoder, KeyValueCache& cache, std::size_t most_rows,
                         std::size_t most_scores)
    : decoder_(decoder),
      cache_(cache),
      most_scores_(most_scores),
      sums_(most_rows * decoder.shape().width),
      normed_(most_rows * decoder.shape().width),
      queries_(most_rows * decoder.shape().attention_width()),
      mixed_(most_rows * mixed_width(decoder.shape())),
      inner_(most_rows * decoder.shape().expanded_width()),
      weights_(KeyValueCache::pages_for(decoder.shape().positions) * cache_page),
      scores_(most_scores * decoder.shape().vocabulary),
      product_(std::max(mixed_width(decoder.shape()), decoder.shape().inner), most_rows) {
    wanted_.reserve(most_rows);
}

std::uint64_t DecoderRows::bytes(const DecoderShape& shape, std::size_t most_rows, std::size_t most_scores) {
    const std::uint64_t a_row =
        std::uint64_t{2} * shape.width + mixed_width(shape) + shape.attention_width() + shape.expanded_width();
    return sizeof(float) * (most_rows * a_row + most_scores * std::uint64_t{shape.vocabulary} + shape.positions);
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
        turn(rows);
        remember(rows, layer);
        if (layer + 1 == shape.layers) {
            rows = keep_wanted(rows);
        }
        attend(rows, layer);
        product(block.projection, rows.size(), mixed_.data(), normed_);
        add_to_sums(rows.size(), normed_);
        normalise(block.inner_norm, rows.size());
        product(block.expansion, rows.size(), normed_.data(), inner_);
        activate(rows.size());
        product(block.contraction, rows.size(), inner_.data(), mixed_);
        add_to_sums(rows.size(), mixed_);
    }
    normalise(decoder_.last_norm(), rows.size());
    product_(decoder_.head(), rows.size(), normed_.data(), scores_.data());
}

/// After the last layer's keys and values, only rows that want scores are computed.
std::span<const DecoderRow> DecoderRows::keep_wanted(std::span<const DecoderRow> rows) {
    const std::size_t width = decoder_.shape().width;
    const std::size_t of_attention = decoder_.shape().attention_width();
    wanted_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].wants_scores) {
            std::copy_n(&sums_[i * width], width, &sums_[wanted_.size() * width]);
            std::copy_n(&queries_[i * of_attention], decoder_.shape().query_width(),
                        &queries_[wanted_.size() * of_attention]);
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
    const DecoderShape& shape = decoder_.shape();
    const auto normalise_row = shape.normalisation == DecoderNormalisation::rms ? &rms_norm : &layer_norm;
    for (std::size_t row = 0; row < rows; ++row) {
        normalise_row(shape.width, shape.norm_epsilon, norm.gamma.floats(), norm.beta.floats(),
                      &sums_[row * shape.width], &normed_[row * shape.width]);
    }
}

void DecoderRows::activate(std::size_t rows) {
    const DecoderShape& shape = decoder_.shape();
    const auto activate_all = activation_of(shape.activation);
    if (!shape.gated) {
        activate_all(rows * shape.inner, inner_.data());
        return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
        float* const gates = &inner_[row * 2 * shape.inner];
        const float* const others = gates + shape.inner;
        float* const to = &inner_[row * shape.inner];
        activate_all(shape.inner, gates);
        for (std::size_t i = 0; i < shape.inner; ++i) {
            to[i] = gates[i] * others[i];
        }
    }
}

void DecoderRows::turn(std::span<const DecoderRow> rows) {
    if (decoder_.shape().rotary) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            decoder_.turn(rows[i].position, &queries_[i * decoder_.shape().attention_width()]);
        }
    }
}

void DecoderRows::remember(std::span<const DecoderRow> rows, std::size_t layer) {
    const DecoderShape& shape = decoder_.shape();
    const std::size_t size = shape.size_of_head();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const KeyValueCache::Page page = rows[i].pages[rows[i].position / cache_page];
        const std::size_t place = rows[i].position % cache_page;
        const float* const key = &queries_[i * shape.attention_width() + shape.query_width()];
        const float* const value = key + shape.key_width();
        for (std::size_t head = 0; head < shape.heads_of_keys(); ++head) {
            float* const keys = cache_.keys(page, layer, head);
            for (std::size_t d = 0; d < size; ++d) {
                keys[d * cache_page + place] = key[head * size + d];
            }
            std::copy_n(value + head * size, size, cache_.values(page, layer, head) + place * size);
        }
    }
}

void DecoderRows::attend(std::span<const DecoderRow> rows, std::size_t layer) {
    const DecoderShape& shape = decoder_.shape();
    const std::size_t size = shape.size_of_head();
    const std::size_t group = shape.heads / shape.heads_of_keys();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t head = 0; head < shape.heads; ++head) {
            attend(rows[i], layer, head / group, &queries_[i * shape.attention_width() + head * size],
                   &mixed_[i * shape.query_width() + head * size]);
        }
    }
}

/// `head`: index of a key head.
void DecoderRows::attend(const DecoderRow& row, std::size_t layer, std::size_t head, const float* query, float* to) {
    const std::size_t size = decoder_.shape().size_of_head();
    const std::size_t positions = row.attended;
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
