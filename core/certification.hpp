#pragma once

#include <cstdint>

namespace sluice {

/// What a model did that computes uncertain items a second time (Precision::certified).
struct Certification {
    std::uint64_t recomputed = 0;  ///< Items.
    double bound = 0;              ///< Of the best two scores' gap, as a share of the scores' size, below which it did.
    friend bool operator==(const Certification&, const Certification&) = default;
};

}  // namespace sluice
