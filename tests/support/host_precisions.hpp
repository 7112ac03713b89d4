#pragma once

#include <vector>

#include "core/modes.hpp"
#include "kernels/host/tile_product.hpp"

namespace sluice::test {

/// Those in which this CPU can multiply, ready for use: fp32 and, with AMX, bf16.
inline std::vector<Precision> host_precisions() {
    std::vector<Precision> all{Precision::fp32};
    if (has_tiles()) {
        enable_tiles();
        all.push_back(Precision::bf16);
    }
    return all;
}

}  // namespace sluice::test
