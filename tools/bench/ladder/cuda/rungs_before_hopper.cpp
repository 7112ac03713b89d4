#include <array>

#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {

/// Rungs without code for sm_90a, which this build lacks.
std::span<const Rung> cuda_rungs() {
    static const std::array rungs{
        rung_01_naive,  rung_02_coalesced, rung_03_shared,   rung_04_strip,      rung_05_row, rung_06_row_vector,
        rung_07_column, rung_08_square,    rung_09_unrolled, rung_10_warp_tiles, rung_11_mma,
    };
    return rungs;
}

}  // namespace sluice::ladder
