#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <ranges>
#include <string>
#include <tuple>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/message_pieces.hpp"
#include "comm/node_sharing.hpp"
#include "comm/rank_board.hpp"
#include "comm/root_heartbeat.hpp"
#include "comm/root_time.hpp"
#include "core/system/descriptor.hpp"
#include "tests/support/drifting_clock.hpp"
#include "tests/support/mpi_job.hpp"
#include "tests/support/mpi_main.hpp"
#include "tests/support/proc.hpp"

namespace {

std::atomic<bool> mpi_is_late{false};
std::minstd_rand lateness(7);

}  // namespace

/// MPI may tell at any time after the fact that a message is done: while mpi_is_late, it mostly does so later.
extern "C" int MPI_Testsome(int count, MPI_Request requests[], int* finished, int indices[], MPI_Status statuses[]) {
    if (mpi_is_late && lateness() % 64 != 0) {
        *finished = 0;
        return MPI_SUCCESS;
    }
    return PMPI_Testsome(count, requests, finished, indices, statuses);
}

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using test::MpiJob;
using test::session;

class Sizes : public testing::TestWithParam<std::size_t> {};

/// Random bytes, over and over: of a prime length, so that no two of a message's pieces look alike.
const std::vector<std::byte>& pattern() {
    static const std::vector<std::byte> bytes = [] {
        std::vector<std::byte> random(65'537);
        for (std::size_t i = 0; i < random.size(); ++i) {
            random[i] = static_cast<std::byte>(test::mix(i));
        }
        return random;
    }();
    return bytes;
}

void fill(std::span<std::byte> bytes) {
    for (std::size_t begin = 0; begin < bytes.size(); begin += pattern().size()) {
        const std::size_t count = std::min(pattern().size(), bytes.size() - begin);
        std::memcpy(bytes.data() + begin, pattern().data(), count);
    }
}

/// Stretches of the pattern's length.
std::size_t wrong_stretches(std::span<const std::byte> bytes) {
    std::size_t wrong = 0;
    for (std::size_t begin = 0; begin < bytes.size(); begin += pattern().size()) {
        const std::size_t count = std::min(pattern().size(), bytes.size() - begin);
        wrong += std::memcmp(bytes.data() + begin, pattern().data(), count) != 0 ? 1U : 0U;
    }
    return wrong;
}

/// Takes what rank 0 says, to its word that all is done; calls `then` after `enough` heartbeats. Returns how many
/// came.
int signs_until_end(
    int enough = 0, const std::function<void()>& then = [] {}) {
    for (int heartbeats = 0;; ++heartbeats) {
        if (heartbeats == enough) {
            then();
        }
        ControlMessage message;
        MPI_Recv(&message, sizeof message, MPI_BYTE, 0, tags::from_root, session().world(), MPI_STATUS_IGNORE);
        if (message.kind != ControlMessage::Kind::heartbeat) {
            EXPECT_EQ(message.kind, ControlMessage::Kind::end);
            return heartbeats;
        }
    }
}

void say_end() {
    const ControlMessage end{.kind = ControlMessage::Kind::end};
    for (int rank = 1; rank < session().size(); ++rank) {
        MPI_Send(&end, sizeof end, MPI_BYTE, rank, tags::from_root, session().world());
    }
}

TEST(RootHeartbeat, ReachEveryOtherRankWhenTheyAreDue) {
    if (session().rank() != 0) {
        EXPECT_EQ(signs_until_end(), 2);
        return;
    }
    RootHeartbeat heartbeats(session());
    const Instant begin = Clock::now();

    heartbeats.send_if_due(begin);  // never
    heartbeats.send_every(std::chrono::seconds(10));
    heartbeats.send_if_due(begin);
    heartbeats.send_if_due(begin + std::chrono::seconds(9));
    heartbeats.send_if_due(begin + std::chrono::seconds(10));

    say_end();
}

TEST(RootHeartbeat, AreGivenWhileRank0IsBusy) {
    constexpr int enough = 3;
    RankBoard board(session());  // another way than messages to tell rank 0
    if (session().rank() != 0) {
        EXPECT_GE(signs_until_end(enough, [&] { board.mine().heartbeats.store(1); }), enough);
        session().barrier();
        return;
    }
    RootHeartbeat heartbeats(session());
    const auto all_have_heard = [&] {
        return test::eventually([&] {
            const auto others = std::views::iota(std::size_t{1}, board.size());
            return std::ranges::all_of(others,
                                       [&](std::size_t place) { return board.at(place).heartbeats.load() != 0; });
        });
    };

    EXPECT_THROW(heartbeats.send_while([&] {
        EXPECT_TRUE(all_have_heard());
        throw std::runtime_error("no space");
    }),
                 std::runtime_error);

    say_end();
    session().barrier();
}

TEST_P(Sizes, ReachEveryRankByBroadcast) {
    std::string text = "what was there before is replaced";
    if (session().rank() == 0) {
        text.resize(GetParam());
        fill(std::as_writable_bytes(std::span(text)));
    }

    session().broadcast(text);

    ASSERT_EQ(text.size(), GetParam());
    EXPECT_EQ(wrong_stretches(std::as_bytes(std::span(text))), 0U);
}

TEST_P(Sizes, ReachEveryRankOnceANode) {
    NodeMemory memory;
    if (session().rank() == 0) {
        memory = NodeMemory::for_node(GetParam());
        fill(memory.bytes());
    }

    broadcast_once_per_node(session(), memory);

    ASSERT_EQ(memory.bytes().size(), GetParam());
    EXPECT_EQ(wrong_stretches(memory.bytes()), 0U);
}

TEST_P(Sizes, ReachEveryRankWhenRanksCannotMapTheirMemory) {
    NodeMemory memory;
    if (session().rank() == 0) {
        memory = NodeMemory::of_process(GetParam());
        fill(memory.bytes());
    }

    broadcast_once_per_node(session(), memory);

    ASSERT_EQ(memory.bytes().size(), GetParam());
    EXPECT_EQ(wrong_stretches(memory.bytes()), 0U);
}

TEST(NodeSharing, GivesTheRanksOfANodeTheSamePages) {
    NodeMemory memory;
    if (session().rank() == 0) {
        memory = NodeMemory::for_node(4096);
    }
    broadcast_once_per_node(session(), memory);

    if (session().rank() == session().size() - 1) {
        memory.bytes()[17] = std::byte{42};
    }
    session().barrier();

    EXPECT_EQ(memory.bytes()[17], std::byte{42});
}

TEST(NodeSharing, LetsTheRanksOfRankZerosNodeMapItsMemory) {
    NodeMemory memory = session().rank() == 0 ? NodeMemory::for_node(4096) : NodeMemory();

    const std::vector<bool> shares = share_on_root_node(session(), memory);

    EXPECT_EQ(shares, std::vector<bool>(static_cast<std::size_t>(session().size()), true));
    if (session().rank() == 0) {
        memory.bytes()[4095] = std::byte{42};
    }
    session().barrier();
    ASSERT_EQ(memory.bytes().size(), 4096U);
    EXPECT_EQ(memory.bytes()[4095], std::byte{42});
    const Descriptor zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::read(zeros.number(), memory.bytes().data(), 1), session().rank() == 0 ? 1 : -1);
}

TEST(NodeSharing, SharesNothingWhereRanksCannotMapIt) {
    NodeMemory memory = session().rank() == 0 ? NodeMemory::of_process(4096) : NodeMemory();

    const std::vector<bool> shares = share_on_root_node(session(), memory);

    EXPECT_EQ(shares, std::vector<bool>(static_cast<std::size_t>(session().size()), false));
    EXPECT_EQ(memory.bytes().size(), session().rank() == 0 ? 4096U : 0U);
}

TEST(NodeSharing, PacksEachPartOnceANode) {
    constexpr std::size_t parts = 11;
    PackedWeights weights;
    std::atomic<int> packed{0};
    std::vector<PackedWeights::Room> rooms;
    for (std::size_t i = 0; i < parts; ++i) {
        rooms.push_back(weights.reserve(8, {[&packed, i](std::byte* room) {
                                            const std::uint64_t value = test::mix(i);
                                            std::memcpy(room, &value, sizeof(value));
                                            ++packed;
                                        }}));
    }

    pack_once_per_node(session(), weights, 2);

    for (std::size_t i = 0; i < parts; ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, rooms[i].data(), sizeof(value));
        EXPECT_EQ(value, test::mix(i)) << i;
    }
    int all = 0;
    for (const int count : session().all_gather(packed)) {
        all += count;
    }
    EXPECT_EQ(all, static_cast<int>(parts));
}

INSTANTIATE_TEST_SUITE_P(Broadcast, Sizes,
                         testing::Values(0, 1, 4097, largest_message, largest_message + 1, largest_message + 4099));

TEST(MpiSession, GathersTextsOfAnyLengthOnRankZeroInRankOrder) {
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, largest_message / 2 + 1}) {
        const auto mine = [&](int rank) {
            return std::string(length * static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
        };

        const std::vector<std::string> all = session().gather(mine(session().rank()));

        if (session().rank() != 0) {
            EXPECT_TRUE(all.empty());
            continue;
        }
        ASSERT_EQ(all.size(), static_cast<std::size_t>(session().size()));
        for (int rank = 0; rank < session().size(); ++rank) {
            EXPECT_TRUE(all[static_cast<std::size_t>(rank)] == mine(rank)) << length << " bytes times " << rank;
        }
    }
}

TEST(MpiSession, TellsEveryRankTheNumbersAndTheNodesTextsInOrder) {
    const std::vector<int> numbers = session().all_gather(10 * session().rank());
    const std::vector<std::string> texts = session().node_all_gather(fmt::format("{}", session().node_rank()));

    for (std::size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(numbers[i], 10 * static_cast<int>(i));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(texts[i], fmt::format("{}", i));
    }
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(session().size()));
}

TEST(MpiSession, BroadcastsTextsAndNumbers) {
    std::string text = session().rank() == 0 ? std::string("a\0b", 3) : "before";
    std::int64_t number = session().rank() == 0 ? -5 : 0;

    session().broadcast(text);
    session().broadcast_number(number);

    EXPECT_EQ(text, std::string("a\0b", 3));
    EXPECT_EQ(number, -5);
}

TEST(ClockAlignment, FindsThatRanksOfOneNodeShareTheirClock) {
    for (const int turns_ahead : {1, 2, session().size()}) {
        const ClockOffset offset = align_clock(session(), turns_ahead);

        EXPECT_LE(std::chrono::abs(offset.offset), offset.error) << turns_ahead;
        EXPECT_GT(offset.error.count(), 0) << turns_ahead;
        EXPECT_EQ(offset.at != Instant(), session().rank() != 0) << turns_ahead;
    }
}

/// Every rank but 0 has a clock that drifts; since all share a node, the truth is the clock without that.
TEST(ClockAlignment, PutsTimesOfDriftingClocksInOrder) {
    constexpr std::int64_t drift_of_rank = 20'000;  // ppm
    const int rank = session().rank();
    if (rank != 0) {
        let_clock_drift(rank % 2 == 0 ? rank * drift_of_rank : -rank * drift_of_rank);
    }
    const ClockOffset first = align_clock(session());
    test::SeenClocks seen;
    std::vector<Instant> truth;
    for (int i = 0; i < 3; ++i) {
        truth.push_back(steady_now());
        static_cast<void>(test::run_on_all_ranks(session(), {.items = 2000}, &seen));
    }
    const ClockOffset last = align_clock(session());
    const ClockBounds to_root = share_bounds(session(), seen.to_root);
    if (rank != 0) {
        const RootTime time(first, last);
        const Causality causality = check_causality(time, to_root, seen.from_root);

        for (const Instant steady : truth) {
            EXPECT_LE(std::chrono::abs(time(drifted(steady)) - steady),
                      time.error_at(drifted(steady)) + nanoseconds(2));
        }
        EXPECT_LE(causality.violation, time.error_at(drifted(truth.front())));
        EXPECT_GT(causality.messages, 0U);
        EXPECT_NE(causality.bound, std::nullopt);
    }
    let_clock_drift(0);
}

TEST(RankBoard, SeesNobodyDeadWhileAllLive) {
    const RankBoard board(session());
    session().barrier();

    EXPECT_EQ(board.find_dead(), nullptr);

    session().barrier();
}

TEST(RankBoard, LetsExactlyOneRankSpeak) {
    RankBoard board(session());

    const std::vector<int> claims = session().all_gather(board.claim_message() ? 1 : 0);

    EXPECT_EQ(std::accumulate(claims.begin(), claims.end(), 0), 1);
}

/// Whether items are copied from rank 0's memory or sent.
void expect_every_item_once_and_in_order(MpiJob job) {
    for (const bool shares : {false, true}) {
        job.shares = shares;
        const std::vector<std::uint64_t> results = run_on_all_ranks(session(), job);

        if (session().rank() == 0) {
            EXPECT_EQ(results, test::expected_results(job.items)) << shares;
        }
    }
}

class AnyCount : public testing::TestWithParam<std::tuple<std::uint64_t, std::uint32_t, Distribution>> {};

TEST_P(AnyCount, ComesBackOnceAndInOrderFromUnequalRanks) {
    const auto [items, chunk_items, distribution] = GetParam();
    for (const std::uint32_t depth : {1U, 3U}) {
        SCOPED_TRACE(fmt::format("depth {}", depth));
        expect_every_item_once_and_in_order(
            {.items = items, .distribution = distribution, .driver = {.depth = depth, .chunk_items = chunk_items}});
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, AnyCount,
                         testing::Combine(testing::Values(0, 1, 2, 97, 1009), testing::Values(1, 7, 64),
                                          testing::Values(Distribution::pull, Distribution::fixed)));

TEST(MpiRun, TakesAChunkThatTravelsInManyPieces) {
    expect_every_item_once_and_in_order(
        {.items = 20'011, .largest_message = 1024, .driver = {.depth = 2, .chunk_items = 1000}});
}

TEST(MpiRun, TakesMessagesThatAreTooLargeToBeBufferedOnTheWay) {
    expect_every_item_once_and_in_order({.items = 200'003, .window = 4, .driver = {.depth = 2, .chunk_items = 20'000}});
}

TEST(MpiRun, WorksWithTheSmallestWindowAndStage) {
    expect_every_item_once_and_in_order({.items = 211, .staged = 1, .window = 1, .driver = {.chunk_items = 2}});
}

class LateNews : public testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override { mpi_is_late = session().rank() == 0; }
    void TearDown() override { mpi_is_late = false; }
};

TEST_P(LateNews, OfFinishedMessagesConfusesNoSlot) {
    expect_every_item_once_and_in_order(
        {.items = 301, .largest_message = GetParam(), .driver = {.depth = 2, .chunk_items = 4}});
}

INSTANTIATE_TEST_SUITE_P(Pieces, LateNews, testing::Values(16, 1024));

}  // namespace
}  // namespace sluice
