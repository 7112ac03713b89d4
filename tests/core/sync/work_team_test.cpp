#include "core/sync/work_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace sluice {
namespace {

TEST(WorkTeam, DoesEveryPieceOnce) {
    for (const std::uint32_t helpers : {0U, 1U, 3U}) {
        WorkTeam team(helpers);
        for (std::uint32_t round = 0; round < 200; ++round) {
            const std::uint32_t pieces = round % 9;
            std::vector<int> done(pieces);  // each written by whoever has the piece
            const auto work = [&](std::uint32_t piece) { done[piece] += 1; };

            team.run(pieces, work);

            EXPECT_EQ(done, std::vector<int>(pieces, 1)) << helpers << " " << round;
        }
    }
}

TEST(WorkTeam, DoesPiecesAtTheSameTime) {
    WorkTeam team(1);
    std::atomic<int> here{0};
    const auto meet = [&](std::uint32_t) {
        here.fetch_add(1);
        here.notify_all();
        for (int seen = here.load(); seen < 2; seen = here.load()) {
            here.wait(seen);
        }
    };

    team.run(2, meet);  // would never end on one thread

    EXPECT_EQ(here.load(), 2);
}

TEST(WorkTeam, ThrowsWhatAPieceHasThrownAndCanGoOn) {
    WorkTeam team(2);
    std::atomic<int> done{0};
    const auto fail = [&](std::uint32_t piece) {
        if (piece % 4 == 1) {
            throw std::runtime_error("piece");
        }
        done.fetch_add(1);
    };

    EXPECT_THROW(team.run(8, fail), std::runtime_error);
    EXPECT_EQ(done.load(), 6);

    const auto work = [&](std::uint32_t) { done.fetch_add(1); };
    team.run(8, work);
    EXPECT_EQ(done.load(), 14);
}

}  // namespace
}  // namespace sluice
