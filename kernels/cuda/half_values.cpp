#include "kernels/cuda/half_values.hpp"

#include <cuda_fp16.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "core/error.hpp"

namespace sluice {

std::vector<std::byte> encode_half(std::span<const float> values, const char* what) {
    std::vector<std::byte> result(values.size() * sizeof(__half));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const __half narrow = __float2half_rn(values[i]);
        if (!std::isfinite(__half2float(narrow))) {
            throw Error(ExitCode::numeric,
                        {.id = "E-NUM-110",
                         .where = what,
                         .what = fmt::format("got {}, 16-bit precisions hold at most 65504", values[i]),
                         .hint = "use precision fp32"});
        }
        std::memcpy(&result[i * sizeof narrow], &narrow, sizeof narrow);
    }
    return result;
}

std::vector<std::byte> encode_half_parts(std::span<const float> values, std::size_t row, const char* what) {
    expects(row != 0 && values.size() % row == 0, "fp16 in two parts: values that are no whole rows");
    std::vector<float> parts(2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        float* const to = &parts[i / row * 2 * row + i % row];
        const float first = __half2float(__float2half_rn(values[i]));
        to[0] = values[i];
        to[row] = std::isfinite(first) ? (values[i] - first) * half_rest_scale : 0.0F;
    }
    return encode_half(parts, what);
}

std::vector<float> decode_half_parts(std::span<const std::byte> bytes, std::size_t row) {
    expects(row != 0 && bytes.size() % (row * 2 * sizeof(__half)) == 0,
            "fp16 in two parts: bytes that are no whole rows");
    const auto value_of = [&](std::size_t i) {
        __half half;
        std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
        return __half2float(half);
    };
    std::vector<float> values(bytes.size() / (2 * sizeof(__half)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t first = i / row * 2 * row + i % row;
        values[i] = value_of(first) + value_of(first + row) / half_rest_scale;
    }
    return values;
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
