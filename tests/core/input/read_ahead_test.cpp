#include "core/input/read_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/stage_error.hpp"
#include "tests/support/fake_job.hpp"
#include "tests/support/growing_source.hpp"

namespace sluice {
namespace {

using test::fake_input_bytes;
using test::FakeSource;
using test::GrowingSource;

/// Waits for chunk `id`.
std::span<const std::byte> take(ReadAhead& input, Doorbell& bell, std::uint64_t id) {
    for (;;) {
        const std::uint32_t seen = bell.listen();
        if (const auto items = input.take(id)) {
            return *items;
        }
        bell.wait(seen);
    }
}

class AnyReaders : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> {};

TEST_P(AnyReaders, BringEveryChunkThatIsLeftOnce) {
    const auto [staged, readers, step] = GetParam();
    FakeSource source(1003);
    source.step = step;
    std::atomic<std::uint64_t> reads{0};
    source.on_read = [&reads](std::uint64_t) {
        ++reads;
        file_reads_of_thread().bytes += 100;
    };
    const ChunkGrid grid = ChunkGrid(source.count(), 10).from(step);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = staged, .readers = readers}, bell);

    for (std::uint64_t id = grid.begin(); id < grid.chunks(); ++id) {
        const auto items = take(input, bell, id);
        ASSERT_EQ(items.size(), grid.at(id).count * fake_input_bytes);
        for (std::uint32_t i = 0; i < grid.at(id).count; ++i) {
            std::vector<std::byte> expected(fake_input_bytes);
            test::fake_item(grid.at(id).first + i, expected);
            ASSERT_TRUE(std::ranges::equal(items.subspan(i * fake_input_bytes, fake_input_bytes), expected));
        }
        ASSERT_EQ(input.cut_texts(id), test::cut_in(grid.at(id).first, grid.at(id).first + grid.at(id).count));
        input.release(id);
    }

    std::uint64_t traced = 0;
    std::uint64_t bytes = 0;
    for (const ThreadLog& log : input.take_logs()) {
        EXPECT_LE(log.trace.spans().size(), 2 * grid.chunks_left());
        for (const ThreadSpan& span : log.trace.spans()) {
            const bool counts = span.stage == Stage::parse || span.busy.begin == span.busy.end;
            traced += counts ? span.items : 0;
            bytes += counts ? span.bytes : 0;
            EXPECT_LE(span.busy.begin, span.busy.end);
        }
    }
    EXPECT_EQ(traced, 1003U - grid.items_done());
    EXPECT_EQ(bytes, 100 * reads);
}

INSTANTIATE_TEST_SUITE_P(Counts, AnyReaders,
                         testing::Combine(testing::Values(1, 2, 7, 200), testing::Values(1, 2, 3, 8),
                                          testing::Values(1, 3, 64)));

TEST(ReadAhead, LetsAllReadersWorkOnTheOldestChunk) {
    constexpr std::uint32_t readers = 4;
    Doorbell arrivals;
    std::atomic<std::uint32_t> arrived{0};
    FakeSource source(40);
    source.step = 1;
    source.on_read = [&](std::uint64_t first) {
        if (first < 20) {  // nobody continues before all of them are at chunk 0
            ++arrived;
            arrivals.ring();
            for (std::uint32_t seen = arrivals.listen(); arrived < readers; seen = arrivals.listen()) {
                arrivals.wait(seen);
            }
        }
    };
    const ChunkGrid grid(source.count(), 20);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 1, .readers = readers}, bell);

    EXPECT_EQ(take(input, bell, 0).size(), 20 * fake_input_bytes);
    EXPECT_EQ(arrived, readers);
}

TEST(ReadAhead, HandsOutNoChunkOfWhichAPartIsMissing) {
    Doorbell gate;
    std::atomic<bool> open{false};
    std::atomic<std::uint32_t> others{0};
    FakeSource source(20);
    source.step = 1;
    source.on_read = [&](std::uint64_t first) {
        if (first == 0) {
            for (std::uint32_t seen = gate.listen(); !open; seen = gate.listen()) {
                gate.wait(seen);
            }
        } else {
            ++others;
            gate.ring();
        }
    };
    const ChunkGrid grid(source.count(), 20);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 1, .readers = 2}, bell);

    for (std::uint32_t seen = gate.listen(); others == 0; seen = gate.listen()) {
        gate.wait(seen);
    }
    EXPECT_FALSE(input.take(0));
    open = true;
    gate.ring();
    EXPECT_EQ(take(input, bell, 0).size(), 20 * fake_input_bytes);
}

TEST(ReadAhead, TellsTheLowestPartThatFailsWhicheverFailedFirst) {
    for (const std::uint64_t earlier : {5U, 10U}) {  // of two parts of chunk 0, which both have begun
        Doorbell moved;
        std::atomic<int> begun{0};
        std::atomic<bool> failed{false};
        FakeSource source(40);
        source.step = 1;
        source.on_read = [&](std::uint64_t first) {
            if (first != 5 && first != 10) {
                return;
            }
            ++begun;
            moved.ring();
            for (std::uint32_t seen = moved.listen(); begun < 2 || (first != earlier && !failed);
                 seen = moved.listen()) {
                moved.wait(seen);
            }
            failed = true;
            moved.ring();
            throw std::runtime_error(std::to_string(first));
        };
        const ChunkGrid grid(source.count(), 20);
        Doorbell bell;
        ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 2, .readers = 4}, bell);

        try {
            static_cast<void>(take(input, bell, 0));
            ADD_FAILURE() << "did not fail";
        } catch (const StageError& error) {
            EXPECT_EQ(error.chunk(), grid.at(0));
            EXPECT_EQ(describe(error.cause(), "").text.what, "internal error: 5");
        }
    }
}

TEST(ReadAhead, NeverHoldsMoreChunksThanAreStaged) {
    constexpr std::uint32_t staged = 3;
    std::atomic<std::uint64_t> begun{0};
    FakeSource source(500);
    source.on_read = [&begun](std::uint64_t) { ++begun; };
    const ChunkGrid grid(source.count(), 5);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = staged, .readers = 4}, bell);

    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        static_cast<void>(take(input, bell, id));
        EXPECT_LE(begun, id + staged) << "before chunk " << id << " was released";
        input.release(id);
    }

    EXPECT_EQ(begun, grid.chunks());
}

TEST(ReadAhead, ReadsNothingAheadOnDemand) {
    std::atomic<std::uint64_t> begun{0};
    FakeSource source(500);
    source.on_read = [&begun](std::uint64_t) { ++begun; };
    const ChunkGrid grid(source.count(), 5);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 3, .readers = 4, .on_demand = true},
                    bell);

    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        EXPECT_EQ(begun, id) << "nobody has asked for chunk " << id;
        static_cast<void>(take(input, bell, id));
        input.release(id);
    }

    EXPECT_EQ(begun, grid.chunks());
}

TEST(ReadAhead, LetsChunksBeReleasedInAnyOrder) {
    const FakeSource source(40);
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 2, .readers = 2}, bell);
    static_cast<void>(take(input, bell, 0));
    static_cast<void>(take(input, bell, 1));

    input.release(1);
    static_cast<void>(take(input, bell, 3));
    EXPECT_FALSE(input.take(2)) << "its place still holds chunk 0";
    input.release(0);
    static_cast<void>(take(input, bell, 2));
}

/// Readers would write where drivers still copy.
TEST(ReadAhead, ReleasesAChunkOnlyOnce) {
    const FakeSource source(40);
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 2, .readers = 1}, bell);
    static_cast<void>(take(input, bell, 0));
    static_cast<void>(take(input, bell, 1));
    input.release(0);
    static_cast<void>(take(input, bell, 2));

    EXPECT_THROW(input.release(0), ContractViolation);
    EXPECT_THROW(input.release(3), ContractViolation);
    input.release(1);
    EXPECT_THROW(input.release(1), ContractViolation);
    EXPECT_EQ(take(input, bell, 2).size(), 10 * fake_input_bytes);
}

TEST(ReadAhead, TellsTheFirstFailureWhateverIsAskedFor) {
    FakeSource source(1000);
    source.on_read = [](std::uint64_t first) {
        if (first >= 30) {
            throw std::runtime_error("the file has holes");
        }
    };
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 8, .readers = 4}, bell);

    std::vector<StageError> failures;
    for (int i = 0; i < 5; ++i) {
        try {
            static_cast<void>(take(input, bell, 5));
        } catch (const StageError& error) {
            failures.push_back(error);
        }
    }

    ASSERT_EQ(failures.size(), 5U);
    for (const StageError& failure : failures) {
        EXPECT_EQ(failure.stage(), Stage::read);
        EXPECT_EQ(failure.chunk().id, 3U);
        EXPECT_EQ(describe(failure.cause(), "").text.what, "internal error: the file has holes");
    }
}

TEST(ReadAhead, TellsTheLowestChunkThatFailsThoughALaterOneFailedFirst) {
    Doorbell later_failed;
    std::atomic<bool> failed{false};
    FakeSource source(1000);
    source.on_read = [&](std::uint64_t first) {
        if (first == 20) {  // chunk 2 fails once a later one has
            for (std::uint32_t seen = later_failed.listen(); !failed; seen = later_failed.listen()) {
                later_failed.wait(seen);
            }
        }
        if (first >= 20) {
            failed = true;
            later_failed.ring();
            throw std::runtime_error("the file has holes");
        }
    };
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 8, .readers = 3}, bell);

    try {
        static_cast<void>(take(input, bell, 5));
        ADD_FAILURE() << "did not fail";
    } catch (const StageError& error) {
        EXPECT_EQ(error.chunk(), grid.at(2));
    }
}

TEST(ReadAhead, FailsThoughItsOtherReadersWaitForRoom) {
    FakeSource source(1000);
    Activities activities;
    const auto waits = [](const Activities::View& reader) { return reader.state.doing == Activity::Doing::wait; };
    std::atomic<std::uint64_t> begun{0};
    source.on_read = [&](std::uint64_t first) {
        ++begun;
        if (first == 10) {
            while (std::ranges::count_if(activities.look(), waits) != 3) {
                std::this_thread::yield();
            }
            throw std::runtime_error("the file has holes");
        }
    };
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    ReadAhead input(source, grid,
                    {.input_bytes = fake_input_bytes, .staged = 2, .readers = 4, .activities = &activities}, bell);

    EXPECT_THROW(static_cast<void>(take(input, bell, 1)), StageError);
    EXPECT_EQ(begun, 2U);
}

TEST(ReadAhead, EndsWhileItsReadersWaitForRoom) {
    std::atomic<std::uint64_t> begun{0};
    FakeSource source(1000);
    source.on_read = [&begun](std::uint64_t) { ++begun; };
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    {
        ReadAhead input(source, grid, {.input_bytes = fake_input_bytes, .staged = 2, .readers = 4}, bell);
        static_cast<void>(take(input, bell, 0));
        static_cast<void>(take(input, bell, 1));
    }

    EXPECT_EQ(begun, 2U);
}

class AnyEnd : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint64_t>> {};

TEST_P(AnyEnd, IsFoundWhereAGridGoesOnBehindIt) {
    const auto [readers, items] = GetParam();
    GrowingSource source(items);
    Doorbell bell;
    const ChunkGrid open(1000, 10);
    const ChunkGrid grid(items, 10);
    ReadAhead input(source, open, {.input_bytes = fake_input_bytes, .staged = 3, .readers = readers}, bell);

    EXPECT_EQ(input.items(), 1000U);
    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        EXPECT_FALSE(input.take(id)) << "it is not known";
        const Chunk chunk = grid.at(id);
        if (id + 1 == grid.chunks()) {
            source.know_all();
        } else {
            source.know(chunk.first + chunk.count);
        }
        const auto taken = take(input, bell, id);
        std::vector<std::byte> expected(chunk.count * fake_input_bytes);
        source.read(chunk.first, chunk.count, expected);
        ASSERT_TRUE(std::ranges::equal(taken, expected));
        input.release(id);
    }
    source.know_all();
    for (std::uint32_t seen = bell.listen(); input.items() != items; seen = bell.listen()) {
        bell.wait(seen);
    }
    EXPECT_FALSE(input.take(grid.chunks()));
    EXPECT_EQ(input.take_logs().size(), readers);
}

INSTANTIATE_TEST_SUITE_P(Counts, AnyEnd,
                         testing::Combine(testing::Values(1, 2, 5), testing::Values(0, 1, 9, 10, 11, 97, 100)));

TEST(ReadAhead, TellsAtOnceThatTheIndexHasFailed) {
    GrowingSource source(100);
    source.know(10);
    Doorbell bell;
    ReadAhead input(source, ChunkGrid(1000, 10), {.input_bytes = fake_input_bytes, .staged = 2, .readers = 3}, bell);
    static_cast<void>(take(input, bell, 0));

    source.fail(std::make_exception_ptr(Error(ExitCode::bad_data, {.id = "E-INP-033"})));

    EXPECT_THROW(static_cast<void>(take(input, bell, 0)), Error) << "though it was read";
}

TEST(ReadAhead, EndsWhileItsReadersWaitForTheIndex) {
    const GrowingSource source(100);
    Doorbell bell;
    const ReadAhead input(source, ChunkGrid(1000, 10), {.input_bytes = fake_input_bytes, .staged = 2, .readers = 3},
                          bell);
}

TEST(ReadAhead, FailsThoughItsOtherReadersWaitForTheIndex) {
    class BadSource final : public ItemSource {
    public:
        [[nodiscard]] std::uint64_t count() const override { return 20; }
        [[nodiscard]] Known known() const override { return {.count = 10, .is_all = false}; }
        [[nodiscard]] Known wait_for(std::uint64_t items, const std::stop_token& stop) const override {
            std::mutex mutex;
            std::unique_lock lock(mutex);
            std::condition_variable_any never;
            never.wait(lock, stop, [&] { return items <= 10; });
            return known();
        }
        [[nodiscard]] std::uint64_t bytes() const noexcept override { return 1; }
        [[nodiscard]] InputReads reads() const noexcept override { return {}; }
        [[nodiscard]] std::uint32_t granularity() const noexcept override { return 10; }
        [[nodiscard]] std::string stamp() const override { return {}; }
        [[nodiscard]] std::vector<SourceFile> files() const override { return {}; }
        void check_content() const override {}
        std::uint32_t read(std::uint64_t, std::uint32_t, std::span<std::byte>) const override {
            throw std::runtime_error("the file has holes");
        }
    };
    const BadSource source;
    Doorbell bell;
    ReadAhead input(source, ChunkGrid(1000, 10), {.input_bytes = fake_input_bytes, .staged = 3, .readers = 3}, bell);

    EXPECT_THROW(static_cast<void>(take(input, bell, 0)), StageError);
}

TEST(ReadAhead, HasNothingToDoForAnEmptyInput) {
    const FakeSource source(0);
    Doorbell bell;

    ReadAhead input(source, ChunkGrid(0, 10), {.input_bytes = fake_input_bytes, .staged = 1, .readers = 2}, bell);

    EXPECT_EQ(input.take_logs().size(), 2U);
}

TEST(ReadAhead, RefusesNoChunksAndNoReaders) {
    const FakeSource source(1);
    const ChunkGrid grid(1, 1);
    Doorbell bell;

    EXPECT_THROW(ReadAhead(source, grid, {.input_bytes = 1, .staged = 0, .readers = 1}, bell), ContractViolation);
    EXPECT_THROW(ReadAhead(source, grid, {.input_bytes = 1, .staged = 1, .readers = 0}, bell), ContractViolation);
}

}  // namespace
}  // namespace sluice
