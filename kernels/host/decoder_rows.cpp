#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "kernels/host/elementwise.hpp"
#include "kernels/host/host_decoder.hpp"
#include "kernels/host/row_sums.hpp"

namespace sluice {
namespace {

static_assert(cache_page == dot_width);

/// Rows of a text that attend together: its keys and values come from memory or a large cache for all of them at once.
constexpr std::size_t rows_at_once = 8;

/// Makes weights of scores; returns their sum.
float weigh(std::span<float> scores, std::size_t head_size) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));
    const float largest = *std::ranges::max_element(scores);
    for (float& score : scores) {
        score = (score - largest) * scale;
    }
    exp_all(scores.size(), scores.data(), scores.data());
    return std::accumulate(scores.begin(), scores.end(), 0.0F);
}

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
      weights_(rows_at_once * KeyValueCache::pages_for(decoder.shape().positions) * cache_page),
      scores_(most_scores * decoder.shape().vocabulary),
      product_(decoder.precision(), std::max(mixed_width(decoder.shape()), decoder.shape().inner), most_rows) {
    wanted_.reserve(most_rows);
}

std::uint64_t DecoderRows::bytes(const DecoderShape& shape, std::size_t most_rows, std::size_t most_scores) {
    const std::uint64_t a_row =
        std::uint64_t{2} * shape.width + mixed_width(shape) + shape.attention_width() + shape.expanded_width();
    return sizeof(float) * (most_rows * a_row + most_scores * std::uint64_t{shape.vocabulary} +
                            rows_at_once * KeyValueCache::pages_for(shape.positions) * cache_page);
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
    for (std::size_t first = 0; first < rows.size();) {
        const auto* const text = rows[first].pages.data();
        const auto next =
            std::ranges::find_if(rows.subspan(first), [&](const DecoderRow& row) { return row.pages.data() != text; });
        const auto end = static_cast<std::size_t>(next - rows.begin());
        for (std::size_t head = 0; head < shape.heads; ++head) {
            for (std::size_t begin = first; begin < end; begin += rows_at_once) {
                attend(rows.subspan(begin, std::min(rows_at_once, end - begin)), layer, head, begin);
            }
        }
        first = end;
    }
}

/// Rows of one text, of which the first is number `first` of the pass: each page of keys or values serves all of them.
void DecoderRows::attend(std::span<const DecoderRow> rows, std::size_t layer, std::size_t head, std::size_t first) {
    const DecoderShape& shape = decoder_.shape();
    const std::size_t size = shape.size_of_head();
    const std::size_t key_head = head / (shape.heads / shape.heads_of_keys());
    const std::size_t most = std::ranges::max_element(rows, {}, &DecoderRow::attended)->attended;
    const std::size_t room = KeyValueCache::pages_for(shape.positions) * cache_page;
    const auto weights_of = [&](std::size_t i) { return &weights_[i * room]; };
    const auto mixed_of = [&](std::size_t i) { return &mixed_[(first + i) * shape.query_width() + head * size]; };
    const auto for_each_page = [&](const auto& action) {  // action(keys or values before this place, page, row)
        for (std::size_t place = 0; place < most; place += cache_page) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (place < rows[i].attended) {
                    action(place, rows[i].pages[place / cache_page], i);
                }
            }
        }
    };
    for_each_page([&](std::size_t place, KeyValueCache::Page page, std::size_t i) {
        const float* const query = &queries_[(first + i) * shape.attention_width() + head * size];
        dot_columns(size, query, cache_.keys(page, layer, key_head), weights_of(i) + place);
    });
    std::array<float, rows_at_once> sums{};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        sums[i] = weigh({weights_of(i), rows[i].attended}, size);
        std::fill_n(mixed_of(i), size, 0.0F);
    }
    for_each_page([&](std::size_t place, KeyValueCache::Page page, std::size_t i) {
        add_weighted_rows(std::min(cache_page, rows[i].attended - place), size, weights_of(i) + place,
                          cache_.values(page, layer, key_head), mixed_of(i));
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
        float* const to = mixed_of(i);
        for (std::size_t d = 0; d < size; ++d) {
            to[d] /= sums[i];
        }
    }
}

}  // namespace sluice
