#include "comm/chunk_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice {
namespace {

using test::fake_input_bytes;
using test::fake_output_bytes;
using test::FakeSource;
using test::MemoryWriter;

struct Setup {
    std::uint64_t items = 20;  // two a chunk
    Distribution distribution = Distribution::pull;
    std::vector<std::uint32_t> devices_of_rank{2, 1};
    std::uint32_t depth = 3;
    std::uint32_t staged = 10;
    std::uint32_t window = 10;
};

class Server {
public:
    explicit Server(const Setup& setup = {})
        : source_(setup.items),
          grid(setup.items, 2),
          input_(source_, grid, {.input_bytes = fake_input_bytes, .staged = setup.staged}, bell_),
          results_(writer, grid, fake_output_bytes, setup.window, bell_),
          chunks(grid, input_, results_,
                 {.distribution = setup.distribution, .devices_of_rank = setup.devices_of_rank, .depth = setup.depth}) {
    }

    /// Waits for the readers or the writer when there is nothing yet.
    Grant grant() {
        for (;;) {
            const std::uint32_t seen = bell_.listen();
            if (const auto next = chunks.next_grant()) {
                if (!next->chunk.end_of_input()) {
                    std::vector<std::byte> item(fake_input_bytes);
                    test::fake_item(next->chunk.first, item);
                    EXPECT_TRUE(std::ranges::equal(next->items.first(fake_input_bytes), item));
                    chunks.release(next->chunk);
                }
                return *next;
            }
            bell_.wait(seen);
        }
    }

    void bring(const Chunk& chunk, int rank) {
        const std::span<std::byte> place = chunks.place(chunk, rank);
        EXPECT_EQ(place.size(), chunk.count * fake_output_bytes);
        chunks.arrived(chunk, rank, checksum_of(place));
    }

    void wait_until_read(std::uint64_t id) {
        for (;;) {
            const std::uint32_t seen = bell_.listen();
            if (input_.take(id)) {
                return;
            }
            bell_.wait(seen);
        }
    }

    [[nodiscard]] const OrderedResults& results() const { return results_; }

    void wait_until_written(std::uint64_t count) {
        for (;;) {
            const std::uint32_t seen = bell_.listen();
            if (results_.chunks_written() >= count) {
                return;
            }
            bell_.wait(seen);
        }
    }

private:
    Doorbell bell_;
    FakeSource source_;

public:
    MemoryWriter writer;
    ChunkGrid grid;

private:
    ReadAhead input_;
    OrderedResults results_;

public:
    ChunkServer chunks;
};

constexpr Requester rank_0_device_0{0, 0, 0};
constexpr Requester rank_0_device_1{0, 1, 0};
constexpr Requester rank_1_device_0{1, 0, 0};

bool same(const Requester& a, const Requester& b) {
    return a.rank == b.rank && a.device == b.device && a.slot == b.slot;
}

TEST(ChunkServer, ServesPullsInTheOrderInWhichTheyCame) {
    Server server({.items = 2000});  // so many that no device waits for others
    const std::vector<Requester> order{rank_1_device_0, rank_0_device_1, rank_0_device_0, {1, 0, 1}, {0, 1, 1}};
    for (const Requester& requester : order) {
        server.chunks.request(requester);
    }

    for (std::uint64_t id = 0; id < order.size(); ++id) {
        const Grant grant = server.grant();
        EXPECT_EQ(grant.chunk, server.grid.at(id));
        EXPECT_TRUE(same(grant.to, order[id]));
    }
    EXPECT_FALSE(server.chunks.next_grant()) << "nobody asks any more";
}

TEST(ChunkServer, GivesEachDeviceItsOwnChunksInOrderWhenTheSplitIsFixed) {
    Server server({.distribution = Distribution::fixed});
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        server.chunks.request({1, 0, slot});  // the third device of three: chunks 2, 5, 8
    }
    server.chunks.request(rank_0_device_1);

    std::vector<std::uint64_t> of_rank_1;
    std::vector<std::uint64_t> of_rank_0;
    for (int i = 0; i < 4; ++i) {
        const Grant grant = server.grant();
        (grant.to.rank == 1 ? of_rank_1 : of_rank_0).push_back(grant.chunk.id);
    }

    EXPECT_EQ(of_rank_1, (std::vector<std::uint64_t>{2, 5, 8}));
    EXPECT_EQ(of_rank_0, (std::vector<std::uint64_t>{1}));
}

TEST(ChunkServer, HoldsRequestsBackWhileTheWindowIsClosed) {
    Server server({.devices_of_rank = {1}, .window = 2});
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        server.chunks.request({0, 0, slot});
    }
    const Chunk first = server.grant().chunk;
    const Chunk second = server.grant().chunk;
    server.wait_until_read(2);

    EXPECT_FALSE(server.chunks.next_grant()) << "there is no room for its results";
    server.bring(second, 0);
    EXPECT_FALSE(server.chunks.next_grant()) << "the oldest is still missing";
    server.bring(first, 0);
    server.wait_until_written(2);

    EXPECT_EQ(server.grant().chunk, server.grid.at(2));
}

TEST(ChunkServer, EndsEveryWaitingRequestAfterTheLastChunk) {
    for (const Distribution distribution : {Distribution::pull, Distribution::fixed}) {
        Server server({.items = 2, .distribution = distribution});
        const std::vector<Requester> order{rank_0_device_0, {0, 0, 1}, rank_0_device_1, rank_1_device_0};
        for (const Requester& requester : order) {
            server.chunks.request(requester);
        }
        server.wait_until_read(0);

        EXPECT_EQ(server.grant().chunk, server.grid.at(0));
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Grant end = server.grant();
            EXPECT_TRUE(end.chunk.end_of_input());
            EXPECT_TRUE(same(end.to, order[i]));
        }
        EXPECT_FALSE(server.chunks.all_written());
        server.bring(server.grid.at(0), 0);
        server.wait_until_written(1);
        EXPECT_TRUE(server.chunks.all_written());
    }
}

TEST(ChunkServer, EndsRequestsOfAnEmptyInputAtOnce) {
    Server server({.items = 0});

    server.chunks.request(rank_1_device_0);

    EXPECT_TRUE(server.grant().chunk.end_of_input());
    EXPECT_TRUE(server.chunks.all_written());
}

TEST(ChunkServer, GrantsNothingNewOnceItDrains) {
    Server server;
    server.chunks.request(rank_0_device_0);
    server.chunks.request(rank_1_device_0);
    const Chunk first = server.grant().chunk;
    const Chunk second = server.grant().chunk;

    server.chunks.drain();
    server.chunks.request(rank_0_device_1);

    EXPECT_TRUE(server.grant().chunk.end_of_input());
    EXPECT_EQ(server.chunks.end(), 2U);
    server.bring(second, 1);
    EXPECT_FALSE(server.chunks.all_written());
    server.bring(first, 0);
    server.wait_until_written(2);
    EXPECT_TRUE(server.chunks.all_written());
}

TEST(ChunkServer, FillsTheGapsWhenAFixedSplitDrains) {
    Server server({.distribution = Distribution::fixed});
    server.chunks.request({1, 0, 0});  // the third device of three
    server.chunks.request({1, 0, 1});
    EXPECT_EQ(server.grant().chunk.id, 2U);
    EXPECT_EQ(server.grant().chunk.id, 5U);
    server.chunks.request(rank_0_device_0);
    EXPECT_EQ(server.grant().chunk.id, 0U);

    server.chunks.drain();
    EXPECT_EQ(server.chunks.end(), 6U);
    for (const Requester& requester : {rank_0_device_0, rank_0_device_1, Requester{0, 1, 1}, rank_1_device_0}) {
        server.chunks.request(requester);
    }

    EXPECT_EQ(server.grant().chunk.id, 3U);
    EXPECT_EQ(server.grant().chunk.id, 1U);
    EXPECT_EQ(server.grant().chunk.id, 4U);
    EXPECT_TRUE(server.grant().chunk.end_of_input());
}

/// Of a chunk of two items.
std::vector<std::byte> outputs_of(const std::vector<std::uint64_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

TEST(ChunkServer, WritesWhatIsKnownInPlaceOfGrantingIt) {
    Server server({.items = 6, .staged = 1});
    server.chunks.know(0, outputs_of({10, 11}));
    server.chunks.know(1, outputs_of({12, 13}));

    server.chunks.request(rank_0_device_0);
    const Chunk granted = server.grant().chunk;

    EXPECT_EQ(granted, server.grid.at(2)) << "known chunks have left the one bin to it";
    server.wait_until_written(2);
    EXPECT_EQ(server.writer.results, (std::vector<std::uint64_t>{10, 11, 12, 13}));
}

TEST(ChunkServer, CountsTheItemsThatAreCutOnceOfEachChunkWritten) {
    Server server({.staged = 3});
    server.chunks.know(1, outputs_of({12, 13}));
    server.chunks.request(rank_0_device_0);
    server.chunks.request(rank_1_device_0);
    const Chunk first = server.grant().chunk;
    const Chunk third = server.grant().chunk;
    server.bring(third, 1);
    EXPECT_EQ(server.results().cut_written(), 0U) << "what is granted or waits for an earlier one does not count";

    server.bring(first, 0);
    server.wait_until_written(3);

    EXPECT_EQ(server.results().cut_written(), test::cut_in(0, 6));
}

TEST(ChunkServer, HoldsWhatIsKnownBackWhileTheWindowIsClosed) {
    Server server({.window = 1});
    server.chunks.know(1, outputs_of({12, 13}));
    server.chunks.request(rank_0_device_0);
    server.chunks.request(rank_0_device_1);
    const Chunk first = server.grant().chunk;
    server.wait_until_read(1);

    EXPECT_FALSE(server.chunks.next_grant()) << "there is no room for its results";
    server.bring(first, 0);

    EXPECT_EQ(server.grant().chunk, server.grid.at(2));
}

TEST(ChunkServer, TakesARequestForAMessageOfItsRank) {
    Server server;

    server.chunks.request(rank_1_device_0);

    EXPECT_EQ(server.chunks.book().ranks()[1].messages, 1U);
    EXPECT_EQ(server.chunks.book().ranks()[0].messages, 0U);
}

TEST(ChunkServer, RefusesResultsThatWereNotGrantedToTheRank) {
    Server server;
    server.chunks.request(rank_0_device_0);
    const Chunk chunk = server.grant().chunk;

    EXPECT_THROW(static_cast<void>(server.chunks.place(chunk, 1)), ContractViolation) << "another rank's";
    EXPECT_THROW(server.chunks.arrived(chunk, 1, 0), ContractViolation);
    EXPECT_THROW(static_cast<void>(server.chunks.place(server.grid.at(1), 0)), ContractViolation) << "nobody's yet";
    EXPECT_THROW(static_cast<void>(server.chunks.place({chunk.id, chunk.first, chunk.count + 1}, 0)), ContractViolation)
        << "of another size";
    EXPECT_NO_THROW(server.bring(chunk, 0));
}

TEST(ChunkServer, RefusesAResultThatCameBefore) {
    Server server;
    server.chunks.request(rank_0_device_0);
    const Chunk chunk = server.grant().chunk;
    server.bring(chunk, 0);

    EXPECT_THROW(static_cast<void>(server.chunks.place(chunk, 0)), ContractViolation);
    EXPECT_THROW(server.chunks.arrived(chunk, 0, 0), ContractViolation);
}

TEST(ChunkServer, RefusesMoreRequestsThanThereAreSlotsAndRanksThatDoNotExist) {
    Server server({.devices_of_rank = {1}, .depth = 2, .window = 1});
    server.chunks.request({0, 0, 0});
    EXPECT_ANY_THROW(server.chunks.request({7, 0, 0}));
    server.chunks.request({0, 0, 1});

    EXPECT_THROW(server.chunks.request({0, 0, 0}), ContractViolation);
}

}  // namespace
}  // namespace sluice
