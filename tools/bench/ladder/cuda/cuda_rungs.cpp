#include <array>

#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {

std::span<const Rung> cuda_rungs() {
    static const std::array rungs{
        rung_01_naive,      rung_02_coalesced, rung_03_shared, rung_04_strip,      rung_05_row,
        rung_06_row_vector, rung_07_column,    rung_08_square, rung_09_unrolled,   rung_10_warp_tiles,
        rung_11_mma,        rung_12_wgmma,     rung_13_roles,  rung_14_persistent, rung_15_parity,
        rung_16_multicast,  rung_17_stores,    rung_18_models, rung_19_two_parts,  rung_20_fp8,
    };
    return rungs;
}

}  // namespace sluice::ladder
