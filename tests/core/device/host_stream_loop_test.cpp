#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/device/host_stream.hpp"
#include "tests/core/device/gate.hpp"

namespace sluice {
namespace {

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
    Activity activity;
    HostStream stream({.activity = &activity});
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
    EXPECT_LT(activity.state().moves, 50U) << "it goes through no more rounds of nothing";
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

}  // namespace
}  // namespace sluice
