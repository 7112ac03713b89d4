#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "comm/rank_board.hpp"

namespace sluice::test {

/// Those of a node's ranks, by place.
inline std::deque<RankBoard> boards_of_node(std::size_t ranks) {
    NodeMemory memory = NodeMemory::for_node(RankBoard::bytes_for(ranks));
    const NodeMemory::Ticket ticket = memory.ticket().value();
    std::deque<RankBoard> boards;
    boards.emplace_back(std::move(memory), ranks, 0);
    for (std::size_t place = 1; place < ranks; ++place) {
        boards.emplace_back(NodeMemory::map(ticket).value(), ranks, place);
    }
    return boards;
}

}  // namespace sluice::test
