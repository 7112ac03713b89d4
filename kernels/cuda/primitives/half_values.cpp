#include "kernels/cuda/primitives/half_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "core/input/half.hpp"
#include "kernels/cuda/primitives/e4m3_values.hpp"

namespace sluice {

namespace {

/// Throws unless all can be fp16.
void check_sizes(std::span<const float> values, const char* what) {
    constexpr float least_infinite = 65'520;  // rounds to infinity
    const auto fits = [](float value) { return std::abs(value) < least_infinite; };
    if (const auto found = std::ranges::find_if_not(values, fits); found != values.end()) {
        throw Error(ExitCode::numeric, {.id = "E-NUM-110",
                                        .where = what,
                                        .what = fmt::format("got {}, 16-bit precisions hold at most 65504", *found),
                                        .hint = "use precision fp32"});
    }
}

}  // namespace

std::vector<std::byte> encode_half(std::span<const float> values, const char* what) {
    check_sizes(values, what);
    std::vector<std::byte> result(values.size() * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t half = half_of(values[i]);
        std::memcpy(&result[i * sizeof half], &half, sizeof half);
    }
    return result;
}

std::vector<std::byte> encode_half_parts(std::span<const float> values, std::size_t row, const char* what) {
    expects(row != 0 && values.size() % row == 0, "fp16 in two parts: values that are no whole rows");
    check_sizes(values, what);
    std::vector<std::byte> result(2 * values.size() * sizeof(std::uint16_t));
    for (std::size_t first = 0; first < values.size(); first += row) {
        std::byte* const to = &result[2 * first * sizeof(std::uint16_t)];
        std::byte* const rests = to + row * sizeof(std::uint16_t);
        for (std::size_t i = 0; i < row; ++i) {
            const float value = values[first + i];
            const std::uint16_t half = half_of(value);
            const std::uint16_t rest = half_of((value - float_of_half(half)) * half_rest_scale);
            std::memcpy(to + i * sizeof half, &half, sizeof half);
            std::memcpy(rests + i * sizeof rest, &rest, sizeof rest);
        }
    }
    return result;
}

std::vector<float> decode_half_parts(std::span<const std::byte> bytes, std::size_t row) {
    expects(row != 0 && bytes.size() % (row * 2 * sizeof(std::uint16_t)) == 0,
            "fp16 in two parts: bytes that are no whole rows");
    const auto value_of = [&](std::size_t i) {
        std::uint16_t half = 0;
        std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
        return float_of_half(half);
    };
    std::vector<float> values(bytes.size() / (2 * sizeof(std::uint16_t)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t first = i / row * 2 * row + i % row;
        values[i] = value_of(first) + value_of(first + row) / half_rest_scale;
    }
    return values;
}

std::vector<std::byte> encode_half_codes(std::span<const float> values, std::size_t row, const char* what) {
    expects(row != 0 && values.size() % row == 0, "fp16 and e4m3: values that are no whole rows");
    check_sizes(values, what);
    std::vector<std::byte> result(4 * values.size());
    std::vector<float> rests(row);
    for (std::size_t first = 0; first < values.size(); first += row) {
        const std::span<const float> from = values.subspan(first, row);
        const std::span<std::byte> to = std::span(result).subspan(4 * first, 4 * row);
        for (std::size_t i = 0; i < row; ++i) {
            const std::uint16_t half = half_of(from[i]);
            std::memcpy(&to[i * sizeof half], &half, sizeof half);
            rests[i] = (from[i] - float_of_half(half)) * half_rest_scale;
        }
        encode_e4m3(rests, half_code_scale, to.subspan(2 * row, row));
        encode_e4m3(from, half_code_scale, to.subspan(3 * row, row));
    }
    return result;
}

std::vector<float> positions_first(std::span<const float> values, std::size_t channels, std::size_t positions) {
    expects(values.size() == channels * positions, "norm: gamma or beta of the wrong size");
    std::vector<float> result(values.size());
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < positions; ++p) {
            result[p * channels + c] = values[c * positions + p];
        }
    }
    return result;
}

}  // namespace sluice
