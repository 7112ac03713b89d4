#include "core/trace/trace.hpp"
#include "tests/support/error_of.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(Trace, NamesEveryStageOnce) {
    std::set<std::string_view> names;

    for (const Stage stage : all_stages) {
        names.insert(to_string(stage));
    }

    EXPECT_EQ(names.size(), stage_count);
    EXPECT_EQ(to_string(Stage::read), "read");
    EXPECT_EQ(to_string(Stage::write), "write");
}

TEST(Trace, KeepsWhatWasAddedInOrder) {
    DeviceTrace trace("host", 2);

    trace.add({.chunk = {4, 40, 10}, .upload = {Instant(1ns), Instant(2ns)}});
    trace.add({.chunk = {5, 50, 3}});

    ASSERT_EQ(trace.chunks().size(), 2U);
    EXPECT_EQ(trace.chunks()[0].chunk.id, 4U);
    EXPECT_EQ(trace.chunks()[0].upload.end, Instant(2ns));
    EXPECT_EQ(trace.chunks()[1].chunk.count, 3U);
}

TEST(Trace, NeverMovesItsRecords) {
    ThreadTrace thread("reader 0", 1000);
    thread.add({});
    const ThreadSpan* first = thread.spans().data();

    for (int i = 1; i < 1000; ++i) {
        thread.add({.items = 1});
    }

    EXPECT_EQ(thread.spans().data(), first);
}

TEST(Trace, RefusesMoreRecordsThanTheRunHasChunks) {
    DeviceTrace trace("host", 1);
    trace.add({});

    EXPECT_THROW(trace.add({}), ContractViolation);
    EXPECT_EQ(trace.chunks().size(), 1U);
}

TEST(Trace, SaysThatItIsTheNumberOfChunksThatTakesTooMuchMemory) {
    constexpr std::size_t more_than_any_machine_has = std::size_t{1} << 50U;
    constexpr std::size_t more_than_a_vector_holds = std::size_t{1} << 60U;

    for (const std::size_t records : {more_than_any_machine_has, more_than_a_vector_holds}) {
        const Error error = test::error_of([&] { const ThreadTrace trace("reader 0", records); });

        EXPECT_EQ(error.code(), ExitCode::out_of_memory);
        EXPECT_EQ(error.text().id, "E-MEM-068");
        EXPECT_NE(error.text().hint.find("raise pipeline.chunk_items"), std::string::npos);
    }
}

TEST(Trace, RefusesARecordWhenNoneWasExpected) {
    ThreadTrace thread("writer", 0);

    EXPECT_THROW(thread.add({}), ContractViolation);
}

}  // namespace
}  // namespace sluice
