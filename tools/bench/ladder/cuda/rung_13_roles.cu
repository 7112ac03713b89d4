// 13, roles: one thread only requests copies, four stages ahead, and two warpgroups only multiply tiles of 128 by 256:
// copies and products overlap inside a block, and setmaxnreg gives the consumers the registers of the others. The
// kernel is hopper.cuh's, as it is without a setting.
#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {

const Rung rung_13_roles{
    13,   "producer and consumers",    Precision::bf16, {hopper::tile_rows, hopper::tile_columns, hopper::depth},
    true, &hopper::make<hopper::Roles>};

}  // namespace sluice::ladder
