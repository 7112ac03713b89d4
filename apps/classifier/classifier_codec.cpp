#include "apps/classifier/classifier_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "apps/classifier/alphabet.hpp"
#include "apps/classifier/one_hot.hpp"
#include "core/error.hpp"
#include "kernels/dense.hpp"

namespace sluice::classifier {
namespace {

constexpr std::uint32_t label_bytes = sizeof(std::int32_t);
constexpr std::uint32_t longest_result = label_bytes + classifier_classes * sizeof(float);

std::int32_t label_of(std::span<const std::byte> result) {
    std::int32_t label = 0;
    std::memcpy(&label, result.data(), sizeof label);
    return label;
}

bool is_marked(std::int32_t label) {
    static_assert((missing_int32 & nonfinite_mark) == 0);
    return (label & nonfinite_mark) != 0;
}

}  // namespace

void ClassifierCodec::encode(std::uint64_t /*item*/, std::string_view text, std::span<std::byte> to) const {
    static constexpr auto symbols = classifier_symbol_table();
    expects(to.size() == classifier_length, "classifier: an item's room has the wrong size");
    const std::string_view kept = text.substr(0, classifier_length);
    std::transform(kept.rbegin(), kept.rend(), to.begin(),
                   [](char c) { return std::byte{symbols[static_cast<unsigned char>(c)]}; });
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(kept.size()), to.end(), std::byte{classifier_blank});
}

std::vector<std::uint64_t> ClassifierCodec::dense_shape() const {
    return {classifier_symbols, classifier_length};
}

ItemProblem ClassifierCodec::pack_dense(std::span<const float> dense, std::span<std::byte> to) const {
    return {.what = pack_one_hot(dense, classifier_symbols, {reinterpret_cast<std::uint8_t*>(to.data()), to.size()})};
}

ItemProblem ClassifierCodec::check_packed(std::span<const std::byte> item) const {
    expects(item.size() == classifier_length, "classifier: an item has the wrong size");
    std::byte largest{0};  // of all: a search that may stop early is many times slower
    for (const std::byte b : item) {
        largest = std::max(largest, b);
    }
    if (largest <= std::byte{classifier_blank}) {
        return {};
    }
    const auto bad =
        std::find_if(item.begin(), item.end(), [](std::byte b) { return b > std::byte{classifier_blank}; });
    return {.what = fmt::format("byte {}: got {}, expected 0 to {}", bad - item.begin(), std::to_integer<int>(*bad),
                                classifier_blank)};
}

std::vector<OutputField> ClassifierCodec::output_fields() const {
    std::vector<OutputField> fields{{.name = "label", .type = FieldType::int32, .count = 1}};
    if (!names_.empty()) {
        const auto longest = std::ranges::max(names_, {}, &std::string::size).size();
        fields.push_back({.name = "name", .type = FieldType::text, .most_bytes = static_cast<std::uint32_t>(longest)});
    }
    if (scores_) {
        fields.push_back({.name = "score", .type = FieldType::float32, .count = classifier_classes});
    }
    return fields;
}

void ClassifierCodec::decode(std::span<const std::byte> result, Row& row) const {
    const std::int32_t label = label_of(result);
    if (!names_.empty()) {
        decode_named(result, row);
        return;
    }
    if (!is_marked(label)) {
        row.fixed(result);
        return;
    }
    std::array<std::byte, longest_result> unmarked{};
    std::ranges::copy(result, unmarked.begin());
    const std::int32_t alone = label & ~nonfinite_mark;
    std::memcpy(unmarked.data(), &alone, sizeof alone);
    row.fixed(std::span(unmarked).first(result.size()));
}

void ClassifierCodec::decode_named(std::span<const std::byte> result, Row& row) const {
    const std::int32_t label = label_of(result);
    if (label == missing_int32) {
        row.missing();
        row.missing();
    } else {
        const std::int32_t unmarked = label & ~nonfinite_mark;
        row.int32(unmarked);
        row.text(names_.at(static_cast<std::size_t>(unmarked)));
    }
    for (auto scores = result.subspan(label_bytes); !scores.empty(); scores = scores.subspan(sizeof(float))) {
        float score = 0;
        std::memcpy(&score, scores.data(), sizeof score);
        row.float32(score);
    }
}

void ClassifierCodec::write_missing(std::span<std::byte> result) const {
    ClassifierCodec(scores_).ItemCodec::write_missing(result);  // a name is missing where its label is
}

std::uint64_t ClassifierCodec::nonfinite(std::span<const std::byte> results) const {
    if (scores_) {
        return ItemCodec::nonfinite(results);
    }
    std::uint64_t items = 0;
    for (; !results.empty(); results = results.subspan(sizeof(std::int32_t))) {
        items += is_marked(label_of(results)) ? 1 : 0;
    }
    return items;
}

}  // namespace sluice::classifier
