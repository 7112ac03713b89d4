#pragma once

#include <cmath>
#include <cstddef>

namespace sluice {

/// out[q][c] = max over j < pool of in[q * pool + j][c]; in: (groups * pool, channels), out: (groups, channels).
/// NaN if one of them is.
inline void max_pool(const float* in, std::size_t groups, std::size_t pool, std::size_t channels, float* out) {
    for (std::size_t q = 0; q < groups; ++q, out += channels) {
        for (std::size_t c = 0; c < channels; ++c) {
            out[c] = in[c];
        }
        in += channels;
        for (std::size_t j = 1; j < pool; ++j, in += channels) {
            for (std::size_t c = 0; c < channels; ++c) {
                out[c] = in[c] <= out[c] || std::isnan(out[c]) ? out[c] : in[c];
            }
        }
    }
}

}  // namespace sluice
