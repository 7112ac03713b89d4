// 1, naive: three loops as the formula has them. The innermost walks down a column of b: each load is in another row,
// and brings a line of the cache of which one element is used.
#include "tools/bench/ladder/host/rungs.hpp"

namespace sluice::ladder::host {

void multiply_naive(const Matrices& x) {
    for (std::size_t row = 0; row < x.m; ++row) {
        for (std::size_t column = 0; column < x.n; ++column) {
            float sum = 0;
            for (std::size_t k = 0; k < x.k; ++k) {
                sum += x.a[row * x.k + k] * x.b[k * x.n + column];
            }
            x.out[row * x.n + column] = sum;
        }
    }
}

}  // namespace sluice::ladder::host
