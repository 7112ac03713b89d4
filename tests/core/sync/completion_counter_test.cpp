#include "core/sync/completion_counter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

std::exception_ptr failure(const char* what) {
    return std::make_exception_ptr(std::runtime_error(what));
}

TEST(Event, IsCompleteByDefault) {
    const Event event;

    EXPECT_TRUE(event.ready());
    EXPECT_EQ(event.source(), nullptr);
    event.wait();  // returns
}

TEST(CompletionCounter, ReachesTicketsOneByOneAndForGood) {
    CompletionCounter counter(4);

    for (std::uint64_t done = 0; done <= 20; ++done) {
        for (std::uint64_t ticket = 1; ticket <= 20; ++ticket) {
            EXPECT_EQ(Event(counter, ticket).ready(), ticket <= done);
        }
        counter.complete();
    }
}

TEST(CompletionCounter, GivesTheFailureToLaterTicketsOnly) {
    CompletionCounter counter(4);
    counter.complete();

    counter.poison(failure("first"));
    counter.poison(failure("second"));
    counter.complete();

    EXPECT_TRUE(Event(counter, 1).ready());
    EXPECT_THROW(static_cast<void>(Event(counter, 2).ready()), std::runtime_error);
    EXPECT_FALSE(Event(counter, 3).ready()) << "not reached yet";
    try {
        Event(counter, 2).wait();
        ADD_FAILURE() << "did not throw";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "first");
    }
}

TEST(CompletionCounter, ReachesEveryTicketOnceItIsAbandoned) {
    CompletionCounter counter(4);
    counter.complete();

    counter.abandon(failure("gone"));

    EXPECT_TRUE(Event(counter, 1).ready());
    EXPECT_THROW(static_cast<void>(Event(counter, 2).ready()), std::runtime_error);
    EXPECT_THROW(Event(counter, 1'000'000).wait(), std::runtime_error);
    EXPECT_THROW(static_cast<void>(Event(counter, 1).completed_at()), std::runtime_error)
        << "the reason, not a complaint about the time";
}

TEST(CompletionCounter, WakesWhoWaitsWhenItIsAbandoned) {
    CompletionCounter counter(4);
    bool threw = false;

    std::thread waiting([&] {
        try {
            counter.wait_until_reached(5);
        } catch (const std::runtime_error&) {
            threw = true;
        }
    });
    counter.abandon(failure("gone"));
    waiting.join();

    EXPECT_TRUE(threw);
}

TEST(CompletionCounter, KeepsTheTimesOfItsLastTickets) {
    CompletionCounter counter(4);
    std::vector<Instant> before;

    for (std::uint64_t ticket = 1; ticket <= 10; ++ticket) {
        before.push_back(Clock::now());
        counter.complete();
        for (std::uint64_t kept = ticket < 4 ? 1 : ticket - 3; kept <= ticket; ++kept) {
            const Instant at = Event(counter, kept).completed_at();
            EXPECT_GE(at, before[kept - 1]);
            EXPECT_LE(at, Clock::now());
        }
    }
}

TEST(CompletionCounter, RefusesTimesThatItHasNot) {
    CompletionCounter counter(4);
    for (int i = 0; i < 10; ++i) {
        counter.complete();
    }

    EXPECT_THROW(static_cast<void>(counter.reached_at(6)), ContractViolation) << "forgotten";
    EXPECT_THROW(static_cast<void>(counter.reached_at(11)), ContractViolation) << "not reached";
    EXPECT_GE(counter.kept(), 4U);
}

TEST(CompletionCounter, RingsItsBellAtEachCompletionButNotAQuietOne) {
    Doorbell bell;
    CompletionCounter counter(4, &bell);

    const std::uint32_t before = bell.listen();
    counter.complete();
    const std::uint32_t loud = bell.listen();
    counter.complete_quietly();

    EXPECT_NE(loud, before);
    EXPECT_EQ(bell.listen(), loud);
    EXPECT_TRUE(Event(counter, 2).ready());
}

TEST(CompletionCounter, RingsEverySubscriberAndSaysWhenItTakesNoMore) {
    CompletionCounter counter(4);
    std::vector<std::shared_ptr<Doorbell>> bells;

    for (bool room = true; room && bells.size() < 100;) {
        bells.push_back(std::make_shared<Doorbell>());
        room = counter.subscribe(bells.back());
    }
    bells.pop_back();
    std::vector<std::uint32_t> before;
    for (const auto& bell : bells) {
        EXPECT_TRUE(counter.subscribe(bell)) << "twice is once";
        before.push_back(bell->listen());
    }
    counter.complete();

    ASSERT_GE(bells.size(), 1U);
    for (std::size_t i = 0; i < bells.size(); ++i) {
        EXPECT_NE(bells[i]->listen(), before[i]);
    }
}

TEST(CompletionCounter, WakesAWaitingThreadAtEveryTicket) {
    constexpr std::uint64_t tickets = 20'000;  // where cores are few and busy each takes milliseconds
    CompletionCounter counter(8);
    CompletionCounter answers(8);

    std::thread other([&] {
        for (std::uint64_t ticket = 1; ticket <= tickets; ++ticket) {
            counter.wait_until_reached(ticket);
            answers.complete();
        }
    });
    for (std::uint64_t ticket = 1; ticket <= tickets; ++ticket) {
        counter.complete();
        answers.wait_until_reached(ticket);
    }
    other.join();

    EXPECT_TRUE(answers.reached(tickets));
}

}  // namespace
}  // namespace sluice
