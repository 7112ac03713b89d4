#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <thread>

#include "core/error.hpp"
#include "tests/support/mpi_job.hpp"
#include "tests/support/mpi_main.hpp"
#include "tests/support/proc.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using test::MpiJob;
using test::session;

void say_to_all_others(const ControlMessage& message) {
    for (int rank = 1; rank < session().size(); ++rank) {
        MPI_Send(&message, sizeof message, MPI_BYTE, rank, tags::from_root, session().world());
    }
}

/// As a rank's comm thread, without chunks: the last rank speaks at once and asks to stop, as all of them do later;
/// they close once they have heard two heartbeats after the word to drain.
void speak_as_another_rank() {
    const auto say = [](ControlMessage::Kind kind, std::uint32_t count = 0) {
        const ControlMessage message{.kind = kind, .count = count};
        MPI_Send(&message, sizeof message, MPI_BYTE, 0, tags::control, session().world());
    };
    if (session().rank() == session().size() - 1) {
        say(ControlMessage::Kind::heartbeat);
        say(ControlMessage::Kind::stop, SIGTERM);
    }
    int signs = 0;
    for (ControlMessage heard; heard.kind != ControlMessage::Kind::end;) {
        MPI_Recv(&heard, sizeof heard, MPI_BYTE, 0, tags::from_root, session().world(), MPI_STATUS_IGNORE);
        if (heard.kind == ControlMessage::Kind::heartbeat && ++signs == 2) {
            say(ControlMessage::Kind::closed);
        } else if (heard.kind == ControlMessage::Kind::drain) {
            EXPECT_EQ(signs, 0);
            say(ControlMessage::Kind::stop, SIGINT);
        }
    }
    EXPECT_GE(signs, 2);
}

TEST(MpiRemoteHub, MissesARankThatHasSpokenAndFallsSilentUntilItCloses) {
    if (session().rank() != 0) {
        speak_as_another_rank();
        return;
    }
    const int last = session().size() - 1;
    const MpiJob job{.items = 10};
    test::MpiRank rank(session(), job);
    const test::FakeSource source(job.items);
    test::MemoryWriter writer;
    ReadAhead input(source, rank.grid, {.input_bytes = test::fake_input_bytes, .staged = job.staged}, rank.bell);
    OrderedResults results(writer, rank.grid, test::fake_output_bytes, job.window, rank.bell);
    ChunkServer server(rank.grid, input, results, {.devices_of_rank = rank.devices, .depth = job.driver.depth});
    CommTrace trace(session().size(), rank.grid.chunks());
    MpiRemoteHub hub(session(), server, trace, rank.shape, rank.devices, job.staged, job.window);
    const auto is_missed_after_a_while = [&] {
        static_cast<void>(hub.progress());
        return hub.find_silent(nanoseconds(0)).has_value();
    };

    EXPECT_TRUE(test::eventually(is_missed_after_a_while));
    EXPECT_EQ(hub.find_silent(nanoseconds(0)), last) << "the others may not have begun yet";
    EXPECT_TRUE(test::eventually([&] {
        static_cast<void>(hub.progress());
        return hub.stop().signal != 0;
    }));
    std::this_thread::sleep_for(3 * longest_silence_step);
    static_cast<void>(hub.progress());
    EXPECT_EQ(hub.find_silent(2 * longest_silence_step), std::nullopt) << "it did not listen meanwhile";
    EXPECT_EQ(server.book().ranks()[static_cast<std::size_t>(last)].messages, 1U);
    EXPECT_EQ(hub.clock_bounds()[static_cast<std::size_t>(last)].messages(), 0U) << "it did not say when it was sent";

    hub.announce_drain();
    EXPECT_EQ(hub.find_silent(nanoseconds(0)), std::nullopt) << "until then nobody had to speak";

    EXPECT_TRUE(test::eventually([&] {
        static_cast<void>(hub.progress());
        return hub.all_closed();
    }));
    static_cast<void>(hub.progress());
    EXPECT_EQ(hub.find_silent(nanoseconds(0)), std::nullopt) << "who has closed is done";
    EXPECT_EQ(hub.stop().signal, SIGTERM) << "the first to ask";
    EXPECT_EQ(hub.stop().rank, last);
    say_to_all_others({.kind = ControlMessage::Kind::end});
}

/// As rank 1's comm thread: gets where a chunk's items lie, says so by a stop, and that they are fetched once told to.
void fetch_as_another_rank(const MessageShape& shape) {
    const auto say = [](const ControlMessage& message) {
        MPI_Send(&message, sizeof message, MPI_BYTE, 0, tags::control, session().world());
    };
    ControlMessage grant;
    ControlMessage told;
    say({.kind = ControlMessage::Kind::request});
    MPI_Recv(&grant, sizeof grant, MPI_BYTE, 0, tags::grant(0, 0, shape.depth), session().world(), MPI_STATUS_IGNORE);
    say({.kind = ControlMessage::Kind::stop, .count = SIGTERM});
    MPI_Recv(&told, sizeof told, MPI_BYTE, 0, tags::from_root, session().world(), MPI_STATUS_IGNORE);
    say({.kind = ControlMessage::Kind::fetched, .count = grant.count, .id = grant.id, .first = grant.first});
    EXPECT_GT(grant.count, 0U);
}

/// As rank 0, to which rank 1 alone speaks.
void expect_in_transit_until_fetched(const MpiJob& job, test::MpiRank& rank) {
    const test::FakeSource source(job.items);
    test::MemoryWriter writer;
    ReadAhead input(source, rank.grid,
                    {.input_bytes = test::fake_input_bytes, .staged = job.staged, .memory = rank.shared.memory},
                    rank.bell);
    OrderedResults results(writer, rank.grid, test::fake_output_bytes, job.window, rank.bell);
    ChunkServer server(rank.grid, input, results, {.devices_of_rank = rank.devices, .depth = job.driver.depth});
    CommTrace trace(session().size(), rank.grid.chunks());
    MpiRemoteHub hub(session(), server, trace, rank.shape, rank.devices, job.staged, job.window, rank.shared);
    const auto grants = [&] {
        static_cast<void>(hub.progress());
        if (const auto grant = server.next_grant()) {
            hub.send(*grant);
            return true;
        }
        return false;
    };

    ASSERT_TRUE(test::eventually(grants));
    ASSERT_TRUE(test::eventually([&] {
        static_cast<void>(hub.progress());
        return hub.stop().signal != 0;
    }));
    for (int look = 0; look < 100; ++look) {  // what was sent has arrived
        static_cast<void>(hub.progress());
    }
    EXPECT_TRUE(hub.in_transit());

    const ControlMessage go_on{.kind = ControlMessage::Kind::heartbeat};
    MPI_Send(&go_on, sizeof go_on, MPI_BYTE, 1, tags::from_root, session().world());
    EXPECT_TRUE(test::eventually([&] {
        static_cast<void>(hub.progress());
        return !hub.in_transit();
    }));
}

/// Else it would hardly look for the word that a bin is free again.
TEST(MpiRemoteHub, CountsAChunkAsInTransitUntilItIsFetched) {
    const MpiJob job{.items = 10, .shares = true};
    test::MpiRank rank(session(), job);
    if (session().rank() == 0) {
        expect_in_transit_until_fetched(job, rank);
    } else if (session().rank() == 1) {
        fetch_as_another_rank(rank.shape);
    }
    session().barrier();  // what is said next is for the next test
}

/// Takes what the other ranks have said beyond what a test waits for, so that the next one does not.
void take_the_rest() {
    ControlMessage message{.kind = ControlMessage::Kind::closed};
    if (session().rank() != 0) {
        MPI_Send(&message, sizeof message, MPI_BYTE, 0, tags::control, session().world());
        return;
    }
    for (int rank = 1; rank < session().size(); ++rank) {
        do {
            MPI_Recv(&message, sizeof message, MPI_BYTE, rank, tags::control, session().world(), MPI_STATUS_IGNORE);
        } while (message.kind != ControlMessage::Kind::closed);
    }
}

/// Waits for a message of `kind` from each other rank, which sends no others.
void hear_from_all_others(ControlMessage::Kind kind) {
    for (int rank = 1; rank < session().size(); ++rank) {
        ControlMessage message;
        MPI_Recv(&message, sizeof message, MPI_BYTE, rank, tags::control, session().world(), MPI_STATUS_IGNORE);
        EXPECT_EQ(message.kind, kind);
    }
}

TEST(MpiWorker, GivesSignsOfLifeWhenAskedToAndWhileTheRunDrains) {
    constexpr ControlMessage::Kind sign = ControlMessage::Kind::heartbeat;
    test::MpiRank rank(session(), {});
    if (session().rank() == 0) {
        hear_from_all_others(sign);
        say_to_all_others({.kind = ControlMessage::Kind::drain});
        hear_from_all_others(sign);
        hear_from_all_others(sign);
        say_to_all_others({.kind = ControlMessage::Kind::end, .count = static_cast<std::uint32_t>(ExitCode::io_error)});
    } else {
        rank.record.heartbeats = 1;
        MpiWorker worker(session(), rank.endpoints, rank.record, rank.shape);
        try {
            worker.run(rank.bell, rank.stop);
            ADD_FAILURE() << "rank 0 has ended the run";
        } catch (const RootHasEnded& end) {
            EXPECT_EQ(end.code(), ExitCode::io_error);
        }
    }
    take_the_rest();
}

TEST(MpiWorker, WaitsForARootThatHasNotBegunToServe) {
    test::MpiRank rank(session(), {});
    if (session().rank() == 0) {
        hear_from_all_others(ControlMessage::Kind::stop);
        say_to_all_others({.kind = ControlMessage::Kind::end, .count = static_cast<std::uint32_t>(ExitCode::io_error)});
    } else {
        rank.stop.ask(SIGTERM);
        MpiWorker worker(session(), rank.endpoints, rank.record, rank.shape, {.longest_silence = nanoseconds(0)});
        EXPECT_THROW(worker.run(rank.bell, rank.stop), RootHasEnded);
    }
    take_the_rest();
}

TEST(MpiWorker, GivesUpARootThatFallsSilentWhileTheRunDrains) {
    test::MpiRank rank(session(), {});
    if (session().rank() == 0) {
        say_to_all_others({.kind = ControlMessage::Kind::drain});
    } else {
        MpiWorker worker(session(), rank.endpoints, rank.record, rank.shape, {.longest_silence = nanoseconds(0)});
        EXPECT_THROW(worker.run(rank.bell, rank.stop), RootIsSilent);
    }
    take_the_rest();
}

}  // namespace
}  // namespace sluice
