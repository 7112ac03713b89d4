// 17, overlapped stores: results go through shared memory to the copy engine, in whole rows of 128 bytes, and leave
// while the next tile is multiplied; before, each thread stored four bytes at a time and waited. A setting of
// hopper.cuh's kernel: Roles::stores.
#include "tools/bench/ladder/cuda/hopper.cuh"

namespace sluice::ladder {
namespace {

struct StoresSteps : hopper::Roles {
    static constexpr bool persistent = true;
    static constexpr bool parity = true;
    static constexpr bool multicast = true;
    static constexpr bool stores = true;
};

}  // namespace

const Rung rung_17_stores{
    17,   "overlapped stores",       Precision::bf16, {2 * hopper::tile_rows, hopper::tile_columns, hopper::depth},
    true, &hopper::make<StoresSteps>};

}  // namespace sluice::ladder
