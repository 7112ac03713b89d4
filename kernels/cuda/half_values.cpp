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
