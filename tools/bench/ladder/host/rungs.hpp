#pragma once

#include <cstddef>

namespace sluice::ladder::host {

/// out (m, n) = a (m, k) b (k, n), all row-major.
struct Matrices {
    std::size_t m;
    std::size_t n;
    std::size_t k;
    const float* a;
    const float* b;
    float* out;
};

void multiply_naive(const Matrices& x);
void multiply_blocked(const Matrices& x);
void multiply_vectors(const Matrices& x);
void multiply_library(const Matrices& x);

}  // namespace sluice::ladder::host
