#include "apps/namegen/namegen_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"

namespace sluice::namegen {
namespace {

constexpr std::int32_t no_length = -1;  // of a name that is missing

/// An item of zeros but for its start; the draws and the prefix are the caller's to fill in.
void put_start(const TextStart& start, std::span<std::byte> to) {
    std::ranges::fill(to, std::byte{0});
    std::memcpy(to.data(), &start, sizeof start);
}

}  // namespace

NamegenCodec::NamegenCodec(const NamegenOptions& options) : options_(options) {
    if (options.draws == DrawsFrom::libc) {
        libc_.emplace(static_cast<std::uint32_t>(options.sampling.seed), options.sampling.max_length);
    }
}

ItemProblem NamegenCodec::check_text(std::string_view text) const {
    if (options_.draws == DrawsFrom::input) {
        return {.what = "generate.rng = \"input\" takes random numbers from .bin or .npy, no names",
                .hint = "choose another generate.rng, or name such a file"};
    }
    if (text.size() > options_.sampling.max_length) {
        return {.what = fmt::format("the prefix has {} bytes, expected at most generate.max_length = {}", text.size(),
                                    options_.sampling.max_length),
                .hint = "raise generate.max_length, shorten the item, or leave it out"};
    }
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
        return {.what = fmt::format("byte {} of the prefix is NUL, which ends a name", zero)};
    }
    return {};
}

void NamegenCodec::encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const {
    const std::uint32_t most = options_.sampling.max_length;
    expects(to.size() == shape().input_bytes && text.size() <= most, "namegen: an item of the wrong size");
    put_start({.number = item, .prefix = static_cast<std::uint32_t>(text.size()), .has_draws = libc_ ? 1U : 0U}, to);
    std::byte* const draws = to.data() + sizeof(TextStart);
    if (libc_) {
        std::array<float, longest_name> numbers;
        libc_->of_item(item, std::span(numbers).first(most));
        std::memcpy(draws, numbers.data(), most * sizeof(float));
    }
    std::ranges::copy(std::as_bytes(std::span(text)), draws + most * sizeof(float));
}

std::vector<std::uint64_t> NamegenCodec::dense_shape() const {
    return options_.draws == DrawsFrom::input ? std::vector<std::uint64_t>{options_.sampling.max_length}
                                              : std::vector<std::uint64_t>{};
}

ItemProblem NamegenCodec::pack_dense(std::span<const float> dense, std::span<std::byte> to) const {
    const auto bad = std::ranges::find_if_not(dense, [](float draw) { return draw >= 0 && draw <= 1; });
    if (bad != dense.end()) {
        return {.what = fmt::format("random number {} is {}, expected 0 to 1", bad - dense.begin(), *bad)};
    }
    put_start({.has_draws = 1}, to);
    std::memcpy(to.data() + sizeof(TextStart), dense.data(), dense.size_bytes());
    return {};
}

std::vector<OutputField> NamegenCodec::output_fields() const {
    return {{.name = "name", .type = FieldType::text, .most_bytes = options_.sampling.max_length},
            {.name = "length", .type = FieldType::int32, .in_txt = false},
            {.name = "log_probability", .type = FieldType::float32, .in_txt = false}};
}

void NamegenCodec::decode(std::span<const std::byte> result, Row& row) const {
    TextEnd end;
    std::memcpy(&end, result.data(), sizeof end);
    if (end.length == no_length) {
        row.missing();
        row.missing();
        row.missing();
        return;
    }
    const std::span<const std::byte> bytes = result.subspan(sizeof end);
    expects(end.length >= 0 && static_cast<std::size_t>(end.length) <= bytes.size(), "namegen: a result's length");
    row.text({reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(end.length)});
    row.int32(end.length);
    row.float32(end.log_probability);
}

void NamegenCodec::write_missing(std::span<std::byte> result) const {
    const TextEnd end{.length = no_length};
    std::ranges::fill(result, std::byte{0});
    std::memcpy(result.data(), &end, sizeof end);
}

}  // namespace sluice::namegen
