// 15, parity barriers: one thread of a warpgroup arrives where all 128 did, and nobody arrives just to wait: the others
// look at the parity of the phase. The barriers' traffic in shared memory falls from hundreds of operations a stage to
// three. A setting of hopper.cuh's kernel: Roles::parity.
#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {
namespace {

struct ParitySteps : hopper::Roles {
    static constexpr bool persistent = true;
    static constexpr bool parity = true;
};

}  // namespace

const Rung rung_15_parity{
    15,   "parity barriers",         Precision::bf16, {hopper::tile_rows, hopper::tile_columns, hopper::depth},
    true, &hopper::make<ParitySteps>};

}  // namespace sluice::ladder
