#include "core/output/ordered_results.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "core/files/checksum.hpp"
#include "core/stage_error.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice {
namespace {

using test::fake_output_bytes;
using test::MemoryWriter;

/// Brings the right outputs of a chunk.
void bring(OrderedResults& results, const Chunk& chunk) {
    const std::span<std::byte> place = results.place(chunk);
    ASSERT_EQ(place.size(), std::size_t{chunk.count} * fake_output_bytes);
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
        const std::uint64_t value = test::expected_result(chunk.first + i);
        std::memcpy(place.data() + std::size_t{i} * fake_output_bytes, &value, sizeof value);
    }
    results.arrived(chunk.id, {.checksum = checksum_of(place)});
}

void wait_until_written(const OrderedResults& results, Doorbell& bell, std::uint64_t chunks) {
    for (;;) {
        const std::uint32_t seen = bell.listen();
        if (results.chunks_written() >= chunks) {
            return;
        }
        bell.wait(seen);
    }
}

class AnyWindow : public testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyWindow, WritesInItemOrderInWhateverOrderChunksCome) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        MemoryWriter writer;
        const ChunkGrid grid = ChunkGrid(703, 7).from(5 * seed);  // of 101 chunks
        Doorbell bell;
        OrderedResults results(writer, grid, fake_output_bytes, GetParam(), bell);

        std::vector<std::uint64_t> open;
        std::uint64_t next = grid.begin();
        while (next < grid.chunks() || !open.empty()) {
            while (next < grid.chunks() && results.has_room(next)) {
                results.note_cut(next, static_cast<std::uint32_t>(next % 3));
                open.push_back(next++);
            }
            if (open.empty()) {  // until the writer has made room
                wait_until_written(results, bell, next - GetParam() + 1);
                continue;
            }
            std::swap(open[random() % open.size()], open.back());
            bring(results, grid.at(open.back()));
            open.pop_back();
        }
        wait_until_written(results, bell, grid.chunks());

        EXPECT_EQ(writer.results, test::expected_results(703, grid.items_done()));
        EXPECT_EQ(results.items_written(), 703U - grid.items_done());
        std::uint64_t cut = 0;
        for (std::uint64_t id = grid.begin(); id < grid.chunks(); ++id) {
            cut += id % 3;
        }
        EXPECT_EQ(results.cut_written(), cut);
        const ThreadTrace trace = results.take_log().trace;
        EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(trace.spans(), Stage::write, &ThreadSpan::stage)),
                  grid.chunks_left());
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AnyWindow, testing::Values(1, 2, 3, 16, 1000));

TEST(OrderedResults, WriteNothingBeforeTheOldestChunkHasCome) {
    MemoryWriter writer;
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);

    bring(results, grid.at(2));
    bring(results, grid.at(1));
    EXPECT_EQ(results.chunks_written(), 0U);
    bring(results, grid.at(0));
    wait_until_written(results, bell, 3);

    EXPECT_EQ(writer.results, test::expected_results(30));
}

/// Counts what was appended, and what of it is committed.
class CommittingWriter final : public OutputWriter {
public:
    explicit CommittingWriter(std::chrono::nanoseconds due) : due_(due) {}

    void append(std::uint32_t count, std::span<const std::byte>) override { appended += count; }
    void commit() override {
        if (fails) {
            throw Error(ExitCode::io_error, {.id = "E-IO-003"});
        }
        committed = appended.load();
        committed.notify_all();
    }
    [[nodiscard]] std::optional<std::chrono::nanoseconds> time_to_commit() const override {
        return committed == appended ? std::nullopt : std::optional(due_);
    }
    void publish() override {}

    std::atomic<std::uint64_t> appended{0};
    std::atomic<std::uint64_t> committed{0};
    bool fails = false;

private:
    std::chrono::nanoseconds due_;
};

TEST(OrderedResults, AreCommittedWhenThatIsDueAndNoChunkComes) {
    CommittingWriter writer(std::chrono::nanoseconds(0));
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);

    bring(results, grid.at(0));
    writer.committed.wait(0);

    EXPECT_EQ(writer.committed, 10U);
}

TEST(OrderedResults, AreCommittedAtOnceInAHurry) {
    CommittingWriter writer(std::chrono::hours(1));
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);
    bring(results, grid.at(0));
    wait_until_written(results, bell, 1);
    EXPECT_EQ(writer.committed, 0U);

    results.hurry();
    writer.committed.wait(0);

    EXPECT_EQ(writer.committed, 10U);
}

/// Commits within append(), at every second chunk.
class PairingWriter final : public OutputWriter {
public:
    void append(std::uint32_t, std::span<const std::byte>) override {
        if (++chunks_ % 2 == 0) {
            commits_of_thread().time += commit_time;
        }
    }
    void publish() override {}

    static constexpr std::chrono::nanoseconds commit_time{1};

private:
    std::uint32_t chunks_ = 0;
};

TEST(OrderedResults, CountWhatEachCommitHasMadeDurable) {
    PairingWriter writer;
    const ChunkGrid grid(45, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 5, bell);
    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        bring(results, grid.at(id));
    }
    wait_until_written(results, bell, 5);

    const ThreadLog log = results.take_log();

    EXPECT_EQ(log.usage.name, "writer");
    std::vector<std::uint64_t> items;
    std::vector<std::uint64_t> bytes;
    for (const ThreadSpan& span : log.trace.spans()) {
        if (span.stage == Stage::commit) {
            items.push_back(span.items);
            bytes.push_back(span.bytes);
            EXPECT_EQ(span.busy.end - span.busy.begin, PairingWriter::commit_time);
        }
    }
    EXPECT_EQ(items, std::vector<std::uint64_t>(2, 20));
    EXPECT_EQ(bytes, std::vector<std::uint64_t>(2, 20 * fake_output_bytes));
}

TEST(OrderedResults, SayWhatACommitEndedWith) {
    CommittingWriter writer(std::chrono::nanoseconds(0));
    writer.fails = true;
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);

    bring(results, grid.at(0));

    EXPECT_THROW(wait_until_written(results, bell, 2), StageError);
}

TEST(OrderedResults, LeaveTheOutputToTheCallerOnceTheyStop) {
    CommittingWriter writer(std::chrono::hours(1));
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);
    bring(results, grid.at(0));

    results.stop();

    EXPECT_EQ(writer.appended, 10U);
    EXPECT_EQ(results.chunks_written(), 1U);
}

TEST(OrderedResults, RefuseOutputsThatHaveChangedOnTheirWay) {
    MemoryWriter writer;
    const ChunkGrid grid(30, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 3, bell);
    bring(results, grid.at(0));
    wait_until_written(results, bell, 1);
    const std::span<std::byte> place = results.place(grid.at(1));
    const std::uint64_t checksum = checksum_of(place);
    place[17] ^= std::byte{1};

    results.arrived(1, {.rank = 3, .checksum = checksum});

    try {
        wait_until_written(results, bell, 2);
        FAIL() << "they were written";
    } catch (const StageError&) {
        const Failure failure = describe(std::current_exception(), "");
        EXPECT_EQ(failure.text.id, "E-MEM-113");
        EXPECT_NE(failure.text.what.find("outputs of rank 3"), std::string::npos) << failure.text.what;
    }
    EXPECT_EQ(writer.results.size(), 10U);
}

TEST(OrderedResults, HaveNoRoomBeyondTheWindow) {
    MemoryWriter writer;
    const ChunkGrid grid(100, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 2, bell);

    EXPECT_TRUE(results.has_room(1));
    EXPECT_FALSE(results.has_room(2));
    EXPECT_THROW(static_cast<void>(results.place(grid.at(2))), ContractViolation);
    bring(results, grid.at(0));
    wait_until_written(results, bell, 1);

    EXPECT_TRUE(results.has_room(2));
}

TEST(OrderedResults, RefuseAChunkThatCameBefore) {
    MemoryWriter writer;
    const ChunkGrid grid(100, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 4, bell);
    bring(results, grid.at(1));

    EXPECT_THROW(results.arrived(1, {}), ContractViolation) << "it waits to be written";
    bring(results, grid.at(0));
    wait_until_written(results, bell, 2);
    EXPECT_THROW(results.arrived(1, {}), ContractViolation) << "it was written";
    EXPECT_THROW(static_cast<void>(results.place(grid.at(1))), ContractViolation);
}

TEST(OrderedResults, TellWhatTheWriterFailedWith) {
    MemoryWriter writer;
    writer.on_append = [](std::uint64_t first) {
        if (first == 10) {
            throw Error(ExitCode::io_error, {.id = "E-IO-002", .where = "out.csv", .what = "No space left"});
        }
    };
    const ChunkGrid grid(100, 10);
    Doorbell bell;
    OrderedResults results(writer, grid, fake_output_bytes, 4, bell);
    for (std::uint64_t id = 0; id < 3; ++id) {
        bring(results, grid.at(id));
    }

    try {
        wait_until_written(results, bell, 3);
        ADD_FAILURE() << "did not fail";
    } catch (const StageError& error) {
        EXPECT_EQ(error.stage(), Stage::write);
        EXPECT_EQ(error.chunk(), grid.at(1));
        EXPECT_EQ(describe(error.cause(), "").code, ExitCode::io_error);
    }
    EXPECT_EQ(results.items_written(), 10U);
}

TEST(OrderedResults, EndWhileTheWriterWaits) {
    MemoryWriter writer;
    const ChunkGrid grid(100, 10);
    Doorbell bell;
    {
        OrderedResults results(writer, grid, fake_output_bytes, 4, bell);
        bring(results, grid.at(1));
    }

    EXPECT_TRUE(writer.results.empty());
}

TEST(OrderedResults, RefuseAWindowOfNothing) {
    MemoryWriter writer;
    Doorbell bell;

    EXPECT_THROW(OrderedResults(writer, ChunkGrid(1, 1), fake_output_bytes, 0, bell), ContractViolation);
}

}  // namespace
}  // namespace sluice
