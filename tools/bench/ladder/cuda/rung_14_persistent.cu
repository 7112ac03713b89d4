// 14, persistent: a block for each multiprocessor computes tile after tile, so that the copies of the next begin while
// this one is stored, and nothing is set up twice. Tiles run in groups of 16 rows: what is computed at the same time is
// about square, and the second-level cache serves most of what it reads. A setting of hopper.cuh's kernel:
// Roles::persistent.
#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {
namespace {

struct PersistentSteps : hopper::Roles {
    static constexpr bool persistent = true;
};

}  // namespace

const Rung rung_14_persistent{
    14,   "persistent, raster",          Precision::bf16, {hopper::tile_rows, hopper::tile_columns, hopper::depth},
    true, &hopper::make<PersistentSteps>};

}  // namespace sluice::ladder
