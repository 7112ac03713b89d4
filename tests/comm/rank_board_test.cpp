#include "comm/rank_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/comm/node_boards.hpp"

namespace sluice {
namespace {

TEST(RankBoard, GivesTurnsInTheOrderOfPlaces) {
    std::deque<RankBoard> boards = test::boards_of_node(4);
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

TEST(RankBoard, KnowsTheDeadOfItsOwnProcessNumbersOnly) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    std::deque<RankBoard> boards = test::boards_of_node(2);
    EXPECT_EQ(boards[0].find_dead(), nullptr);

    boards[1].mine().pid.store(child);
    EXPECT_EQ(boards[0].find_dead(), &boards[0].at(1));

    boards[1].mine().pid_space.fetch_add(1);
    EXPECT_EQ(boards[0].find_dead(), nullptr) << "in its own container it may be alive";
    EXPECT_EQ(boards[1].living_root(), &boards[1].at(0));
}

TEST(RankBoard, LetsAProcessOfItsOwnHaveItsTurn) {
    RankBoard board;
    board.wait_for_turn({});
    board.pass_turn_on();
}

TEST(RankBoard, SaysWhereTheSameCommandStarts) {
    using Later = RankBoard::LaterCommits;
    RankBoard board;
    EXPECT_EQ(board.describe_committed(Later::none), "") << "nobody has said how many chunks there are";

    board.set_committed({.chunks = 0, .all = 88});
    EXPECT_EQ(board.describe_committed(Later::none),
              "nothing is committed yet: the same command starts from the beginning");
    EXPECT_EQ(board.describe_committed(Later::possible),
              "nothing is committed yet: the same command starts from the beginning, unless results are still "
              "committed as the job ends");

    board.set_committed({.chunks = 12, .all = 88});
    EXPECT_EQ(board.describe_committed(Later::none),
              "12 of 88 chunks are committed: the same command resumes from there");
    EXPECT_EQ(board.describe_committed(Later::possible),
              "at least 12 of 88 chunks are committed: the same command resumes from there");

    ::setenv("SLUICE_RESUME", "requeue", 1);
    RankBoard submitted;
    ::unsetenv("SLUICE_RESUME");
    submitted.set_committed({.chunks = 12, .all = 88});
    EXPECT_EQ(submitted.describe_committed(Later::none),
              "12 of 88 chunks are committed: another attempt resumes from there");
}

}  // namespace
}  // namespace sluice
