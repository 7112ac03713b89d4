// 2, blocked: the loops walk along rows of b and of the result, and over blocks of 64 by 256 of b, which stay in the
// second-level cache for all rows of a. Loads are beside each other, so that the compiler may use vectors.
#include <algorithm>

#include "tools/bench/ladder/host/rungs.hpp"

namespace sluice::ladder::host {

void multiply_blocked(const Matrices& x) {
    constexpr std::size_t depth = 64;
    constexpr std::size_t width = 256;
    std::fill_n(x.out, x.m * x.n, 0.0F);
    for (std::size_t first_k = 0; first_k < x.k; first_k += depth) {
        const std::size_t end_k = std::min(first_k + depth, x.k);
        for (std::size_t first = 0; first < x.n; first += width) {
            const std::size_t end = std::min(first + width, x.n);
            for (std::size_t row = 0; row < x.m; ++row) {
                float* const to = x.out + row * x.n;
                for (std::size_t k = first_k; k < end_k; ++k) {
                    const float one = x.a[row * x.k + k];
                    const float* const from = x.b + k * x.n;
                    for (std::size_t column = first; column < end; ++column) {
                        to[column] += one * from[column];
                    }
                }
            }
        }
    }
}

}  // namespace sluice::ladder::host
