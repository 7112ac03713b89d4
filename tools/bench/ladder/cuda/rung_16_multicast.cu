// 16, multicast: two blocks of a cluster, one tile below the other, need the same columns of b. Each copies half of
// them to both: a third less leaves the second-level cache. The chip is bound by power, and bytes that do not move cost
// none. A setting of hopper.cuh's kernel: Roles::multicast.
#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {
namespace {

struct MulticastSteps : hopper::Roles {
    static constexpr bool persistent = true;
    static constexpr bool parity = true;
    static constexpr bool multicast = true;
};

}  // namespace

const Rung rung_16_multicast{16,
                             "multicast",
                             Precision::bf16,
                             {2 * hopper::tile_rows, hopper::tile_columns, hopper::depth},
                             true,
                             &hopper::make<MulticastSteps>};

}  // namespace sluice::ladder
