#pragma once

#include <cstdint>
#include <vector>

#include "comm/mpi_session.hpp"
#include "core/system/node_memory.hpp"
#include "core/weights/packed_weights.hpp"

namespace sluice {

/// Distributes rank 0's `memory` to all ranks: over the network once per node, then mapped by the node's other ranks,
/// or copied if one of them cannot access the first one's memory. Collective.
void broadcast_once_per_node(MpiSession& session, NodeMemory& memory);

/// Packs the weights into memory shared by a node's ranks, each writing a share with up to `threads` threads; into
/// memory of each rank's own if one of them cannot access the first one's. All ranks have the same layers. Collective.
void pack_once_per_node(MpiSession& session, PackedWeights& weights, std::uint32_t threads);

/// Maps rank 0's `memory` in the other ranks of its node, to be read by them; their own must be empty and stays so if
/// one of them cannot. Returns who shares it, by rank. Collective.
[[nodiscard]] std::vector<bool> share_on_root_node(MpiSession& session, NodeMemory& memory);

}  // namespace sluice
