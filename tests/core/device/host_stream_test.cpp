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

namespace sluice {
namespace {

/// Opens once for all threads that wait at it.
class Gate {
public:
    void open() {
        open_.store(true);
        bell_.ring();
    }
    void wait() {
        for (;;) {
            const std::uint32_t seen = bell_.listen();
            if (open_.load()) {
                return;
            }
            bell_.wait(seen);
        }
    }

private:
    std::atomic<bool> open_{false};
    Doorbell bell_;
};

void fail() {
    throw std::runtime_error("sick");
}

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

/// Counts its rounds, and says that there are more until `last`.
struct Countdown {
    std::uint32_t more = 1;
    std::uint32_t rounds = 0;
    std::uint32_t last = 0;

    void step() {
        ++rounds;
        more = rounds == last ? 0 : 1;
    }
};

TEST(HostStreamLoop, RunsItsBodyUntilTheDeviceSaysThatThereIsNoMore) {
    for (const std::uint32_t last : {1U, 2U, 1000U}) {
        Countdown count{.last = last};
        int calls = 0;
        HostStream stream({.operations = 4});
        const auto body = [&] {
            ++calls;
            stream.run([&count] { count.step(); });
        };

        stream.loop(&count.more, 5000, body);
        stream.record().wait();

        EXPECT_EQ(count.rounds, last);
        EXPECT_EQ(calls, 1) << "what it enqueues is enqueued once";
    }
}

TEST(HostStreamLoop, RunsNothingWhereThereIsNoMoreOrNoRoundAllowed) {
    Countdown none{.more = 0};
    Countdown count{.last = 3};
    HostStream stream({});
    const auto body = [&] { stream.run([&] { ADD_FAILURE() << "ran"; }); };

    stream.loop(&none.more, 10, body);
    stream.loop(&count.more, 0, body);
    stream.record().wait();
}

TEST(HostStreamLoop, EndsAtItsLastRoundThoughThereWouldBeMore) {
    Countdown count{.last = 1000};
    HostStream stream({});
    const auto body = [&] { stream.run([&count] { count.step(); }); };

    stream.loop(&count.more, 7, body);
    stream.record().wait();

    EXPECT_EQ(count.rounds, 7U);
    EXPECT_EQ(count.more, 1U);
}

TEST(HostStreamLoop, RunsInOrderWithTheCopiesAroundAndInside) {
    std::vector<std::byte> in(1, std::byte{0});
    const std::vector<std::byte> fresh(1, std::byte{40});
    std::vector<std::byte> out(1);
    std::vector<std::byte> last(1);
    Countdown count{.last = 2};
    HostStream stream({});
    const auto body = [&] {
        stream.run([&] {
            in[0] = static_cast<std::byte>(std::to_integer<int>(in[0]) + 1);
            count.step();
        });
        stream.copy(out, in);
    };

    stream.copy(in, fresh);
    stream.loop(&count.more, 10, body);
    stream.copy(last, out);
    stream.copy(in, fresh);
    stream.record().wait();

    EXPECT_EQ(out[0], std::byte{42});
    EXPECT_EQ(last[0], std::byte{42});
    EXPECT_EQ(in[0], std::byte{40});
}

TEST(HostStreamLoop, MayHoldLoopsOfItsOwn) {
    Countdown outer{.last = 3};
    Countdown inner{.last = 5};
    std::vector<char> order;
    HostStream stream({});
    const auto inner_body = [&] {
        stream.run([&] {
            order.push_back('i');
            inner.step();
        });
    };
    const auto outer_body = [&] {
        stream.run([&] {
            order.push_back('o');
            inner = {.last = 2};
        });
        stream.loop(&inner.more, 10, inner_body);
        stream.loop(&inner.more, 10, inner_body);  // has no rounds left
        stream.run([&outer] { outer.step(); });
    };

    stream.loop(&outer.more, 10, outer_body);
    stream.run([&order] { order.push_back('.'); });
    stream.record().wait();

    EXPECT_EQ(std::string(order.begin(), order.end()), "oiioiioii.");
}

TEST(HostStreamLoop, EndsWithARoundThatFailsAndPoisonsTheStream) {
    Countdown count{.last = 1000};
    bool ran = false;
    HostStream stream({});
    const auto body = [&] {
        stream.run([&count] {
            count.step();
            if (count.rounds == 3) {
                fail();
            }
        });
        stream.run([&count] { EXPECT_LT(count.rounds, 3U); });
    };

    stream.loop(&count.more, 1000, body);
    stream.run([&ran] { ran = true; });

    EXPECT_THROW(stream.record().wait(), std::runtime_error);
    EXPECT_EQ(count.rounds, 3U);
    EXPECT_FALSE(ran);
}

TEST(HostStreamLoop, WaitsForTheStreamsThatTheOneBeforeItWaitsFor) {
    Gate gate;
    Countdown count{.last = 2};
    HostStream first({});
    HostStream second({});
    const auto body = [&] { second.run([&count] { count.step(); }); };

    first.run([&gate, &count] {
        gate.wait();
        count.rounds = 0;
    });
    second.wait(first.record());
    second.loop(&count.more, 10, body);
    const Event done = second.record();
    EXPECT_FALSE(done.ready());
    gate.open();
    done.wait();

    EXPECT_EQ(count.rounds, 2U);
}

TEST(HostStreamLoop, EnqueuesNothingWhenItsBodyThrowsOrIsTooLarge) {
    const std::uint32_t more = 1;
    int ran = 0;
    HostStream stream({.operations = 4});
    const auto run_once = [&] { stream.run([&ran] { ++ran; }); };
    const auto throwing = [&] {
        run_once();
        fail();
    };
    const auto too_large = [&] {
        for (int i = 0; i < 4; ++i) {
            run_once();
        }
    };
    const auto recording = [&] { static_cast<void>(stream.record()); };
    const auto marking = [&] { static_cast<void>(stream.mark()); };

    EXPECT_THROW(stream.loop(&more, 10, throwing), std::runtime_error);
    EXPECT_THROW(stream.loop(&more, 10, too_large), ContractViolation);
    EXPECT_THROW(stream.loop(&more, 10, recording), ContractViolation);
    EXPECT_THROW(stream.loop(&more, 10, marking), ContractViolation);
    stream.loop(&more, 5, run_once);
    stream.record().wait();

    EXPECT_EQ(ran, 5);
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
