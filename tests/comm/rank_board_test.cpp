#include "comm/rank_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

/// Those of a node's ranks.
std::deque<RankBoard> make_boards(std::size_t ranks) {
    NodeMemory memory = NodeMemory::for_node(RankBoard::bytes_for(ranks));
    const NodeMemory::Ticket ticket = memory.ticket().value();
    std::deque<RankBoard> boards;
    boards.emplace_back(std::move(memory), ranks, 0);
    for (std::size_t place = 1; place < ranks; ++place) {
        boards.emplace_back(NodeMemory::map(ticket).value(), ranks, place);
    }
    return boards;
}

TEST(RankBoard, GivesTurnsInTheOrderOfPlaces) {
    std::deque<RankBoard> boards = make_boards(4);
    std::mutex mutex;
    std::vector<std::size_t> turns;
    {
        std::vector<std::jthread> ranks;
        for (std::size_t place = boards.size(); place-- != 0;) {
            ranks.emplace_back([&board = boards[place], place, &mutex, &turns](const std::stop_token& stop) {
                board.wait_for_turn(stop);
                {
                    const std::lock_guard lock(mutex);
                    turns.push_back(place);
                }
                board.pass_turn_on();
            });
        }
        for (std::jthread& rank : ranks) {
            rank.join();
        }
    }
    EXPECT_THAT(turns, testing::ElementsAre(0, 1, 2, 3));
}

TEST(RankBoard, LetsAProcessOfItsOwnHaveItsTurn) {
    RankBoard board;
    board.wait_for_turn({});
    board.pass_turn_on();
}

}  // namespace
}  // namespace sluice
