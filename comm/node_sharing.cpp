#include "comm/node_sharing.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice {
namespace {

/// Maps the memory of the node's first rank in its other ranks, whose memory must be empty. If one of them cannot,
/// returns false on all, with empty memory on the others.
bool map_on_node(MpiSession& session, NodeMemory& memory) {
    const bool first = session.node_rank() == 0;
    NodeMemory::Ticket ticket = first ? memory.ticket().value_or(NodeMemory::Ticket{}) : NodeMemory::Ticket{};
    broadcast_asleep(session.node(), raw_bytes(ticket));
    bool mapped = ticket.file >= 0;
    if (mapped && !first) {
        std::optional<NodeMemory> found = NodeMemory::map(ticket);
        mapped = found.has_value();
        memory = std::move(found).value_or(NodeMemory());
    }
    int all_mapped = 0;
    const int mine = mapped ? 1 : 0;
    complete_asleep("MPI_Iallreduce", [&](MPI_Request* request) {
        return MPI_Iallreduce(&mine, &all_mapped, 1, MPI_INT, MPI_MIN, session.node(), request);
    });
    if (all_mapped == 0 && !first) {
        memory = NodeMemory();
    }
    return all_mapped != 0;
}

/// Sends rank 0's bytes to the first rank of every node.
void broadcast_to_nodes(MpiSession& session, NodeMemory& memory) {
    MPI_Comm first_ranks = MPI_COMM_NULL;
    check_mpi(
        MPI_Comm_split(session.world(), session.node_rank() == 0 ? 0 : MPI_UNDEFINED, session.rank(), &first_ranks),
        "MPI_Comm_split");
    if (first_ranks != MPI_COMM_NULL) {
        broadcast_asleep(first_ranks, memory.bytes());
        MPI_Comm_free(&first_ranks);
    }
}

}  // namespace

void broadcast_once_per_node(MpiSession& session, NodeMemory& memory) {
    auto size = static_cast<std::int64_t>(memory.bytes().size());
    session.broadcast_number(size);
    const auto bytes = static_cast<std::size_t>(size);
    if (session.rank() != 0) {
        memory = session.node_rank() == 0 ? NodeMemory::for_node(bytes) : NodeMemory();
    }
    broadcast_to_nodes(session, memory);
    if (session.node_size() > 1 && !map_on_node(session, memory)) {
        if (session.node_rank() != 0) {
            memory = NodeMemory::of_process(bytes);
        }
        broadcast_asleep(session.node(), memory.bytes());
    }
}

void pack_once_per_node(MpiSession& session, PackedWeights& weights, std::uint32_t threads) {
    if (session.node_size() == 1) {
        weights.pack(NodeMemory::of_process(weights.bytes()), {}, threads);
        return;
    }
    NodeMemory memory = session.node_rank() == 0 ? NodeMemory::for_node(weights.bytes()) : NodeMemory();
    PackedWeights::Share share;
    if (map_on_node(session, memory)) {
        share = {static_cast<std::uint32_t>(session.node_rank()), static_cast<std::uint32_t>(session.node_size())};
    } else if (session.node_rank() != 0) {
        memory = NodeMemory::of_process(weights.bytes());
    }
    weights.pack(std::move(memory), share, threads);
    session.node_barrier();
}

std::vector<bool> share_on_root_node(MpiSession& session, NodeMemory& memory) {
    std::int64_t first = session.rank();
    broadcast_asleep(session.node(), raw_bytes(first));
    const bool shares = first == 0 && map_on_node(session, memory);
    if (session.rank() != 0) {
        memory.make_read_only();
    }
    const std::vector<int> shared = session.all_gather(shares ? 1 : 0);
    return {shared.begin(), shared.end()};
}

}  // namespace sluice
