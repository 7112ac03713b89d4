// The chunk server beside readers whose chunks and end come while it looks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/chunk_server.hpp"
#include "core/files/checksum.hpp"
#include "tests/support/fake_job.hpp"
#include "tests/support/growing_source.hpp"

namespace sluice {
namespace {

using test::fake_input_bytes;
using test::fake_output_bytes;
using test::MemoryWriter;

constexpr Requester first_device{0, 0, 0};
constexpr Requester second_device{0, 1, 0};
constexpr Requester third_device{1, 0, 0};

template <class Condition>
void wait_with(Doorbell& bell, Condition condition) {
    for (std::uint32_t seen = bell.listen(); !condition(); seen = bell.listen()) {
        bell.wait(seen);
    }
}

class OpenGrid : public testing::TestWithParam<std::tuple<Distribution, std::uint64_t>> {};

TEST_P(OpenGrid, EndsWhereTheInputIsFoundToEnd) {
    const auto [distribution, items] = GetParam();
    const ChunkGrid grid(items, 2);
    const ChunkGrid open(100, 2);
    Doorbell bell;
    test::GrowingSource source(items);
    source.know(items / 2);
    MemoryWriter writer;
    ReadAhead input(source, open, {.input_bytes = fake_input_bytes, .staged = 4, .readers = 2}, bell);
    OrderedResults results(writer, open, fake_output_bytes, 4, bell);
    ChunkServer server(open, input, results, {.distribution = distribution, .devices_of_rank = {2, 1}, .depth = 1});
    std::vector<Chunk> granted;
    std::size_t ended = 0;
    const auto request = [&](const Requester& who) { server.request(who); };
    for (const Requester& who : {first_device, second_device, third_device}) {
        request(who);
    }

    while (ended < 3) {
        const std::uint32_t seen = bell.listen();
        const auto grant = server.next_grant();
        if (!grant) {
            if (results.chunks_written() == granted.size()) {
                source.know_all();
            }
            bell.wait(seen);
        } else if (grant->chunk.end_of_input()) {
            ++ended;
        } else {
            granted.push_back(grant->chunk);
            server.release(grant->chunk);
            const std::span<std::byte> place = server.place(grant->chunk, grant->to.rank);
            std::ranges::fill(place, std::byte{1});
            server.arrived(grant->chunk, grant->to.rank, checksum_of(place));
            request(grant->to);
        }
    }
    wait_with(bell, [&] { return server.all_written(); });
    results.stop();

    std::ranges::sort(granted, {}, &Chunk::id);
    ASSERT_EQ(granted.size(), grid.chunks());
    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        EXPECT_EQ(granted[id], grid.at(id));
    }
    EXPECT_EQ(server.end(), grid.chunks());
    EXPECT_EQ(server.grid().items(), items);
    EXPECT_EQ(writer.results.size(), items);
}

INSTANTIATE_TEST_SUITE_P(Ends, OpenGrid,
                         testing::Combine(testing::Values(Distribution::pull, Distribution::fixed),
                                          testing::Values(1, 2, 3, 17, 24, 25)));

TEST(ChunkServer, GrantsAsManyItemsAsThereAreIfTheEndIsFoundWhileItTakesThem) {
    const ChunkGrid open(100, 2);
    Doorbell bell;
    test::GrowingSource source(3);
    source.know(2);
    MemoryWriter writer;
    ReadAhead input(source, open, {.input_bytes = fake_input_bytes, .staged = 4}, bell);
    OrderedResults results(writer, open, fake_output_bytes, 4, bell);
    ChunkServer server(open, input, results, {.devices_of_rank = {1}, .depth = 2});
    server.request(first_device);
    wait_with(bell, [&] { return server.next_grant().has_value(); });
    bool has_found = false;
    source.on_known = [&] {
        if (!std::exchange(has_found, true)) {
            source.know_all();
            wait_with(bell, [&] { return input.take(1).has_value(); });
        }
    };
    server.request(first_device);

    const std::optional<Grant> grant = server.next_grant();

    ASSERT_TRUE(has_found);
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->chunk, ChunkGrid(3, 2).at(1));
    EXPECT_EQ(grant->items.size(), fake_input_bytes);
    EXPECT_EQ(server.end(), 2U);
}

/// Chunk 0 is read between the first look at it and the second, so that two looks in one pass see different things.
class SecondLook {
public:
    explicit SecondLook(Distribution distribution)
        : input_(source_, grid_, {.input_bytes = fake_input_bytes, .staged = 4}, bell_),
          results_(writer_, grid_, fake_output_bytes, 4, bell_),
          chunks(grid_, input_, results_, {.distribution = distribution, .devices_of_rank = {1, 1}, .depth = 2}) {
        source_.on_known = [this] {
            if (++looks_ == 2) {
                source_.know(2);
                wait_with(bell_, [this] { return input_.take(0).has_value(); });
            }
        };
    }

    void wait_until_written(std::uint64_t count) {
        wait_with(bell_, [&] { return results_.chunks_written() >= count; });
    }

private:
    Doorbell bell_;
    test::GrowingSource source_{8};
    int looks_ = 0;
    MemoryWriter writer_;
    ChunkGrid grid_{8, 2};
    ReadAhead input_;
    OrderedResults results_;

public:
    ChunkServer chunks;
};

class LaterRequest : public testing::TestWithParam<std::tuple<Distribution, Requester>> {};

TEST_P(LaterRequest, GetsNoChunkThatAnEarlierOneWaitsForThoughItIsReadMeanwhile) {
    const auto [distribution, later] = GetParam();
    SecondLook server(distribution);
    server.chunks.request(first_device);
    server.chunks.request(later);

    EXPECT_FALSE(server.chunks.next_grant());
    const std::optional<Grant> grant = server.chunks.next_grant();

    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->chunk.id, 0U);
    EXPECT_EQ(std::tuple(grant->to.rank, grant->to.slot), std::tuple(0, 0U));
}

INSTANTIATE_TEST_SUITE_P(Distributions, LaterRequest,
                         testing::Values(std::tuple(Distribution::pull, third_device),
                                         std::tuple(Distribution::fixed, Requester{0, 0, 1})));

TEST(ChunkServer, GrantsNoKnownChunkThatIsReadMeanwhile) {
    SecondLook server(Distribution::pull);
    server.chunks.know(0, std::vector<std::byte>(std::size_t{2} * fake_output_bytes));
    server.chunks.request(first_device);

    ASSERT_FALSE(server.chunks.next_grant());
    ASSERT_FALSE(server.chunks.next_grant());

    server.wait_until_written(1);
}

TEST(ChunkServer, GrantsNothingMoreThoughTheEndIsFoundWhileItDrains) {
    const ChunkGrid open(100, 2);
    Doorbell bell;
    test::GrowingSource source(9);
    source.know(2);
    MemoryWriter writer;
    ReadAhead input(source, open, {.input_bytes = fake_input_bytes, .staged = 10}, bell);
    OrderedResults results(writer, open, fake_output_bytes, 10, bell);
    ChunkServer server(open, input, results, {.devices_of_rank = {1}, .depth = 1});
    server.request(first_device);
    wait_with(bell, [&] { return server.next_grant().has_value(); });
    server.drain();
    source.know_all();
    wait_with(bell, [&] { return input.items() == 9; });
    server.request(first_device);

    const std::optional<Grant> grant = server.next_grant();

    ASSERT_TRUE(grant);
    EXPECT_TRUE(grant->chunk.end_of_input());
    EXPECT_EQ(server.end(), 1U);
}

}  // namespace
}  // namespace sluice
