#pragma once

#include <cstdint>

#include "comm/mpi_session.hpp"
#include "core/node_memory.hpp"
#include "core/packed_weights.hpp"

namespace sluice {

/// Rank 0's `memory` to every rank: over the network once a node, and mapped by the node's other ranks, or copied where
/// one of them may not reach the first one's memory. Collective.
void broadcast_once_a_node(MpiSession& session, NodeMemory& memory);

/// Packs the weights in one memory for all ranks of a node, each writing a share on up to `threads` threads; in a
/// memory of its own each where one of them may not reach the first one's. The same layers on all of them. Collective.
void pack_once_a_node(MpiSession& session, PackedWeights& weights, std::uint32_t threads);

}  // namespace sluice
