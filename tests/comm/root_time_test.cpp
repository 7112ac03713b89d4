#include "comm/root_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "core/error.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

Instant at(nanoseconds time) {
    return Instant(time);
}

/// Rank 0's clock when another one shows `own`.
using Truth = std::function<Instant(Instant own)>;

Truth even_drift(nanoseconds offset, double drift) {
    return [=](Instant own) {
        return own + offset +
               nanoseconds(static_cast<std::int64_t>(static_cast<double>(own.time_since_epoch().count()) * drift));
    };
}

/// What an alignment at `own` finds that is off by `mistake`.
ClockOffset aligned(const Truth& truth, Instant own, nanoseconds mistake, nanoseconds error) {
    return {.offset = truth(own) - own + mistake, .error = error, .at = own};
}

nanoseconds between(std::mt19937_64& random, nanoseconds least, nanoseconds most) {
    return least +
           nanoseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>((most - least).count())));
}

/// Messages both ways, at random times of `run`, each as quick as 5 µs or much slower.
struct Traffic {
    ClockBounds to_root;
    ClockBounds from_root;
};

Traffic traffic_of(const Truth& truth, nanoseconds run, int messages, std::mt19937_64& random) {
    Traffic traffic;
    for (int i = 0; i < messages; ++i) {
        const Instant own = at(run / messages * i);
        const nanoseconds there = between(random, 5us, 500us);
        traffic.to_root.add(own, truth(own) + there - own);
        const nanoseconds back = between(random, 5us, 500us);
        traffic.from_root.add(own, own - (truth(own) - back));
    }
    return traffic;
}

TEST(RootTime, LeavesRankZerosOwnTimesAlone) {
    const RootTime time;

    EXPECT_EQ(time(at(12345s)), at(12345s));
    EXPECT_EQ(time.error_at(at(12345s)), 0ns);
    EXPECT_EQ(time.drift(), 0);
}

TEST(RootTime, IsWithinItsErrorForAnyEvenDrift) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 500; ++i) {
        const double drift = static_cast<double>(random() % 40'001) * 1e-6 - 0.02;
        const Truth truth = even_drift(between(random, -1h, 1h), drift);
        const Instant first = at(between(random, 0s, 1s));
        const Instant last = first + between(random, 1ms, 100s);
        const auto align = [&](Instant own) {
            const nanoseconds error = between(random, 1us, 50us);
            return aligned(truth, own, between(random, -error, error), error);
        };

        const RootTime time(align(first), align(last));

        for (const Instant own : {first - 1s, first, first + (last - first) / 3, last, last + 2s}) {
            ASSERT_LE(std::chrono::abs(time(own) - truth(own)), time.error_at(own) + 2ns) << drift;
        }
        ASSERT_LE(time.error_at(first + (last - first) / 2), 50us);
        ASSERT_LE(time(first), time(last));
    }
}

TEST(RootTime, GivesTheOrderOfEventsThatAClockTooFastTurnsAround) {
    const Truth truth = even_drift(0s, -20'000e-6);
    const Instant received_by_root = at(9'900ms);
    const Instant sent = at(10s);  // by a clock that is 200 ms ahead by then
    ASSERT_LT(truth(sent), received_by_root);

    const RootTime only_first(aligned(truth, at(0s), 0ns, 3us), aligned(even_drift(0s, 0), at(11s), 0ns, 3us));
    const RootTime time(aligned(truth, at(0s), 2us, 3us), aligned(truth, at(11s), -3us, 3us));

    EXPECT_GT(only_first(sent), received_by_root);
    EXPECT_LT(time(sent), received_by_root);
    EXPECT_LE(std::chrono::abs(time(sent) - truth(sent)), 3us);
    EXPECT_NEAR(time.drift(), -0.02, 1e-6);
}

TEST(RootTime, WantsTwoAlignments) {
    EXPECT_THROW(RootTime({.offset = 0ns, .error = 0ns, .at = at(5s)}, {.offset = 0ns, .error = 0ns, .at = at(5s)}),
                 ContractViolation);
}

TEST(ClockBounds, KeepTheQuickestMessageOfEachStretchHoweverLongTheRun) {
    for (const nanoseconds pause : {nanoseconds(100us), nanoseconds(3ms), nanoseconds(700ms)}) {
        ClockBounds bounds;
        std::mt19937_64 random(2);
        std::vector<ClockBounds::Bound> all;
        for (int i = 0; i < 5000; ++i) {
            all.push_back({at(5s + pause * i), between(random, 10us, 1s)});
            bounds.add(all.back().at, all.back().difference);
        }

        std::size_t used = 0;
        for (const ClockBounds::Bound& kept : bounds.quickest()) {
            if (kept.difference != nanoseconds::max()) {
                ++used;
                EXPECT_NE(
                    std::ranges::find_if(
                        all, [&](const auto& one) { return one.at == kept.at && one.difference == kept.difference; }),
                    all.end());
            }
        }
        EXPECT_LE(std::ranges::min(bounds.quickest(), {}, &ClockBounds::Bound::difference).difference,
                  std::ranges::min(all, {}, &ClockBounds::Bound::difference).difference + 1s / 64);
        EXPECT_GT(used, ClockBounds::stretches / 3);
        EXPECT_EQ(bounds.messages(), 5000U);
    }
}

TEST(Causality, HoldsOnClocksThatDriftEvenly) {
    std::mt19937_64 random(3);
    for (const double drift : {-20'000e-6, -20e-6, 0.0, 50e-6, 20'000e-6}) {
        const Truth truth = even_drift(7s, drift);
        const RootTime time(aligned(truth, at(0s), 2us, 3us), aligned(truth, at(60s), -2us, 3us));
        const Traffic traffic = traffic_of(truth, 60s, 20'000, random);

        const Causality causality = check_causality(time, traffic.to_root, traffic.from_root);

        EXPECT_EQ(causality.messages, 40'000U);
        EXPECT_EQ(causality.violation, 0ns);
        EXPECT_GE(causality.bound, 5us);
        EXPECT_LT(causality.bound, 40us);
    }
}

TEST(Causality, IsBrokenByAClockThatNoStraightLineFits) {
    std::mt19937_64 random(4);
    const Truth truth = [](Instant own) {  // faster for half a minute, then slower
        const nanoseconds since = own.time_since_epoch();
        return own + (since < 30s ? since : 60s - since) / 10'000;
    };
    const RootTime time(aligned(truth, at(0s), 0ns, 3us), aligned(truth, at(60s), 0ns, 3us));
    const Traffic traffic = traffic_of(truth, 60s, 20'000, random);

    const Causality causality = check_causality(time, traffic.to_root, traffic.from_root);

    EXPECT_NEAR(static_cast<double>(causality.violation.count()), 3e6, 1e5);  // 30 s / 10,000 at the worst
    EXPECT_GE(causality.bound.value(), causality.violation);
}

TEST(Causality, KnowsNoBoundWithoutMessagesInBothDirections) {
    ClockBounds some;
    some.add(at(1s), 5us);

    EXPECT_EQ(check_causality({}, some, {}).bound, std::nullopt);
    EXPECT_EQ(check_causality({}, {}, some).bound, std::nullopt);
    EXPECT_EQ(check_causality({}, some, some).bound, 5us);
}

}  // namespace
}  // namespace sluice
