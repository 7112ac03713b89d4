#pragma once

#include <cstdint>

namespace sluice {

/// What a model did that computes uncertain items a second time, and a third (Precision::certified).
struct Certification {
    std::uint64_t recomputed = 0;        ///< Items.
    std::uint64_t recomputed_twice = 0;  ///< Of those, left uncertain by the second time too.
    double bound = 0;  ///< Of the best two scores' gap, as a share of the scores' size, below which it did.
    friend bool operator==(const Certification&, const Certification&) = default;
};

}  // namespace sluice
