#include "core/device/host_stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tests/core/device/gate.hpp"

namespace sluice {
namespace {

TEST(HostStream, DoesItsWorkInOrderOnAnotherThread) {
    std::vector<int> order;
    std::thread::id worker;
    HostStream stream({});

    stream.run([&worker] { worker = std::this_thread::get_id(); });
    for (int i = 0; i < 100; ++i) {
        stream.run([&order, i] { order.push_back(i); });
    }
    stream.record().wait();

    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
    EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(HostStream, ReturnsBeforeTheWorkIsDone) {
    Gate gate;
    HostStream stream({});

    stream.run([&gate] { gate.wait(); });
    const Event event = stream.record();

    EXPECT_FALSE(event.ready());
    gate.open();
    event.wait();
    EXPECT_TRUE(event.ready());
}

TEST(HostStream, CopiesBytes) {
    std::vector<std::byte> from(1000, std::byte{7});
    std::vector<std::byte> to(1000);
    HostStream stream({});

    stream.copy(to, from);
    stream.copy({}, {});
    stream.record().wait();

    EXPECT_EQ(to, from);
    EXPECT_THROW(stream.copy(to, std::span(from).first(999)), ContractViolation);
}

TEST(HostStream, WaitsForAnotherStreamsEvent) {
    Gate gate;
    std::atomic<int> steps{0};
    int seen_by_second = -1;
    HostStream first({});
    HostStream second({});

    first.run([&gate, &steps] {
        gate.wait();
        steps = 1;
    });
    second.wait(first.record());
    second.run([&steps, &seen_by_second] { seen_by_second = steps; });
    const Event done = second.record();
    EXPECT_FALSE(done.ready());
    gate.open();
    done.wait();

    EXPECT_EQ(seen_by_second, 1);
}

TEST(HostStream, WaitsForEventsThatAreOverOrItsOwnWithoutHarm) {
    HostStream first({});
    HostStream second({});
    const Event over = first.record();
    over.wait();

    second.wait(over);
    second.wait(Event());
    second.wait(second.record());
    second.record().wait();

    SUCCEED() << "none of them blocked";
}

TEST(HostStream, CrossesTwoStreamsManyTimesWithoutStalling) {
    constexpr int rounds = 3000;
    std::vector<int> order;
    HostStream first({.operations = 16});
    HostStream second({.operations = 16});

    Event last;
    for (int i = 0; i < rounds; ++i) {
        first.wait(last);
        first.run([&order, i] { order.push_back(2 * i); });
        second.wait(first.record());
        second.run([&order, i] { order.push_back(2 * i + 1); });
        last = second.record();
    }
    last.wait();

    ASSERT_EQ(order.size(), 2U * rounds);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(HostStream, GoesOnAfterAStreamThatItWaitedForIsGone) {
    bool ran = false;
    HostStream stream({});
    {
        HostStream short_lived({});
        const Event event = short_lived.record();
        stream.wait(event);
        stream.record().wait();
    }

    stream.run([&ran] { ran = true; });
    stream.record().wait();

    EXPECT_TRUE(ran);
}

TEST(HostStream, GivesAFailureToLaterEventsAndSkipsLaterWork) {
    bool ran = false;
    HostStream stream({});

    const Event before = stream.record();
    stream.run(&fail);
    stream.run([&ran] { ran = true; });
    const Event after = stream.record();

    before.wait();
    EXPECT_THROW(after.wait(), std::runtime_error);
    EXPECT_THROW(stream.record().wait(), std::runtime_error) << "and stays so";
    EXPECT_FALSE(ran);
}

TEST(HostStream, PassesAFailureOnToStreamsThatWait) {
    bool ran = false;
    HostStream first({});
    HostStream second({});
    HostStream third({});

    first.run(&fail);
    second.wait(first.record());
    third.wait(second.record());
    third.run([&ran] { ran = true; });

    EXPECT_THROW(third.record().wait(), std::runtime_error);
    EXPECT_FALSE(ran);
}

TEST(HostStream, TellsThatItHasEnded) {
    Activity activity;
    {
        HostStream stream({.activity = &activity});
        stream.record().wait();
        EXPECT_NE(activity.state().doing, Activity::Doing::nothing);
    }

    EXPECT_EQ(activity.state().doing, Activity::Doing::nothing);
}

TEST(HostStream, FinishesEverythingBeforeItIsGone) {
    std::atomic<int> done{0};
    {
        HostStream stream({});
        for (int i = 0; i < 200; ++i) {
            stream.run([&done] { ++done; });
        }
    }

    EXPECT_EQ(done, 200);
}

TEST(HostStream, EndsThoughAnotherStreamsWorkHoldsItUp) {
    Gate gate;
    std::atomic<int> done{0};
    HostStream first({});
    std::thread opener;
    {
        HostStream second({});
        first.run([&gate] { gate.wait(); });
        second.wait(first.record());
        second.run([&done] { ++done; });
        opener = std::thread([&gate] { gate.open(); });
    }
    opener.join();

    EXPECT_EQ(done, 1);
}

TEST(HostStream, WaitsForRoomAndLosesNothingWhenMoreIsEnqueuedThanFits) {
    constexpr int tasks = 5000;
    std::atomic<int> done{0};
    HostStream stream({.operations = 2});

    for (int i = 0; i < tasks; ++i) {
        stream.run([&done] { ++done; });
    }
    stream.record().wait();

    EXPECT_EQ(done, tasks);
}

TEST(HostStream, RingsItsBellForRecordsButNotForMarks) {
    Doorbell bell;
    HostStream stream({.bell = &bell});

    std::uint32_t before = bell.listen();
    const Event mark = stream.mark();
    stream.run([] {});
    while (!mark.ready()) {
        std::this_thread::yield();
    }
    EXPECT_EQ(bell.listen(), before);

    static_cast<void>(stream.record());
    while (bell.listen() == before) {
        bell.wait(before);
    }
    SUCCEED() << "the record rang";
}

TEST(HostStream, RefusesToWaitForAMarkForWhichNobodyIsWoken) {
    HostStream first({});
    HostStream second({});
    const Event mark = first.mark();

    EXPECT_THROW(second.wait(mark), ContractViolation);
    EXPECT_THROW(mark.wait(), ContractViolation);
    first.record().wait();
    EXPECT_TRUE(mark.ready());
}

TEST(HostStream, KeepsTheTimesOfAsManyRecordsAsAsked) {
    HostStream stream({.records = 5});
    std::vector<Event> events;
    for (int i = 0; i < 5; ++i) {
        events.push_back(i % 2 == 0 ? stream.record() : stream.mark());
    }
    events.back().wait();

    for (std::size_t i = 1; i < events.size(); ++i) {
        EXPECT_LE(events[i - 1].completed_at(), events[i].completed_at());
    }
}

TEST(HostStream, RefusesEventsThatAreNotAHostStreams) {
    CompletionCounter foreign(1);
    HostStream stream({});

    EXPECT_THROW(stream.wait(Event(foreign, 1)), ContractViolation);
}

}  // namespace
}  // namespace sluice
