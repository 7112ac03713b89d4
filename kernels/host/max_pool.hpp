#pragma once

#include <cstddef>

namespace sluice {

/// out[q][c] = max over j < pool of in[q * pool + j][c]; in: (groups * pool, channels), out: (groups, channels).
inline void max_pool(const float* in, std::size_t groups, std::size_t pool, std::size_t channels, float* out) {
    for (std::size_t q = 0; q < groups; ++q, out += channels) {
        for (std::size_t c = 0; c < channels; ++c) {
            out[c] = in[c];
        }
        in += channels;
        for (std::size_t j = 1; j < pool; ++j, in += channels) {
            for (std::size_t c = 0; c < channels; ++c) {
                out[c] = out[c] < in[c] ? in[c] : out[c];
            }
        }
    }
}

}  // namespace sluice
