#include "comm/endpoint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

Post taken(Endpoint& endpoint) {
    Post post;
    expects(endpoint.take(post), "the driver has posted something");
    return post;
}

class EndpointTest : public testing::Test {
protected:
    static constexpr std::uint32_t depth = 2;

    Doorbell comm_bell_;
    Endpoint endpoint_{depth, comm_bell_};
    std::array<std::byte, 4> bytes_{};
};

TEST_F(EndpointTest, HandsPostsOverInOrderAndRingsTheCommThread) {
    const std::uint32_t before = comm_bell_.listen();

    static_cast<void>(endpoint_.request(bytes_));
    static_cast<void>(endpoint_.deliver({5, 10, 2}, bytes_));
    endpoint_.close();

    EXPECT_NE(comm_bell_.listen(), before);
    const Post request = taken(endpoint_);
    EXPECT_EQ(request.kind, Post::Kind::request);
    EXPECT_EQ(request.to.data(), bytes_.data());
    const Post delivery = taken(endpoint_);
    EXPECT_EQ(delivery.kind, Post::Kind::deliver);
    EXPECT_EQ(delivery.chunk, (Chunk{5, 10, 2}));
    EXPECT_EQ(taken(endpoint_).kind, Post::Kind::closed);
    EXPECT_EQ(endpoint_.failure(), nullptr);
    Post none;
    EXPECT_FALSE(endpoint_.take(none));
}

TEST_F(EndpointTest, AnswersRequestsInTheirOrderSlotAfterSlot) {
    for (std::uint64_t turn = 0; turn < 10; ++turn) {
        const Ticket ticket = endpoint_.request(bytes_);
        EXPECT_EQ(taken(endpoint_).slot, turn % depth);
        EXPECT_FALSE(ticket.arrived.ready());

        const std::uint32_t before = endpoint_.bell().listen();
        endpoint_.answer({{turn, turn * 7, 7}, Clock::now()});
        endpoint_.complete_request();

        EXPECT_TRUE(ticket.arrived.ready());
        EXPECT_EQ(ticket.arrival->chunk, (Chunk{turn, turn * 7, 7}));
        EXPECT_GE(ticket.arrived.completed_at(), ticket.arrival->began);
        EXPECT_NE(endpoint_.bell().listen(), before) << "the driver is woken";
        endpoint_.complete_delivery();
    }
}

TEST_F(EndpointTest, CopiesItemsThatLieElsewhereAndSaysSo) {
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
        const std::array<std::byte, 4> there{std::byte{7}, std::byte(turn), std::byte{9}, std::byte{1}};
        const Chunk chunk{turn, turn * 4, 3};
        const Ticket ticket = endpoint_.request(bytes_);
        static_cast<void>(taken(endpoint_));
        endpoint_.answer({.chunk = chunk, .began = Clock::now(), .items = std::span(there).first(3)});
        endpoint_.complete_request();
        bytes_.fill(std::byte{0});
        const Instant before = Clock::now();

        const Interval copied = endpoint_.fetch(ticket);

        EXPECT_EQ(bytes_, (std::array<std::byte, 4>{std::byte{7}, std::byte(turn), std::byte{9}, std::byte{0}}));
        EXPECT_GE(copied.begin, before);
        EXPECT_LE(copied.end, Clock::now());
        const Post post = taken(endpoint_);
        EXPECT_EQ(post.kind, Post::Kind::fetched);
        EXPECT_EQ(post.slot, turn % depth);
        EXPECT_EQ(post.chunk, chunk);
        endpoint_.complete_delivery();
    }
}

TEST_F(EndpointTest, CopiesNothingThatHasArrived) {
    const Ticket ticket = endpoint_.request(bytes_);
    static_cast<void>(taken(endpoint_));
    const Instant began = Clock::now();
    endpoint_.answer({.chunk = {0, 0, 4}, .began = began});
    endpoint_.complete_request();

    EXPECT_EQ(endpoint_.fetch(ticket), (Interval{began, ticket.arrived.completed_at()}));

    Post none;
    EXPECT_FALSE(endpoint_.take(none));
}

TEST_F(EndpointTest, CompletesDeliveriesInTheirOrder) {
    const Event first = endpoint_.deliver({0, 0, 1}, bytes_);
    const Event second = endpoint_.deliver({1, 1, 1}, bytes_);

    endpoint_.complete_delivery();

    EXPECT_TRUE(first.ready());
    EXPECT_FALSE(second.ready());
}

TEST_F(EndpointTest, RefusesMorePostsThanItsDepthAllows) {
    const auto post_without_end = [&] {
        for (int i = 0; i < 100; ++i) {
            static_cast<void>(endpoint_.request(bytes_));
        }
    };

    EXPECT_THROW(post_without_end(), ContractViolation);
}

TEST_F(EndpointTest, KnowsTheOldestChunkThatWasNotDelivered) {
    EXPECT_FALSE(endpoint_.oldest_open());

    endpoint_.answer({{3, 30, 10}, {}});
    endpoint_.complete_request();
    endpoint_.answer({{5, 50, 10}, {}});
    endpoint_.complete_request();
    EXPECT_EQ(endpoint_.oldest_open(), (Chunk{3, 30, 10}));

    endpoint_.complete_delivery();
    EXPECT_EQ(endpoint_.oldest_open(), (Chunk{5, 50, 10}));

    endpoint_.complete_delivery();
    EXPECT_FALSE(endpoint_.oldest_open());

    endpoint_.answer({{9, 90, 0}, {}});
    endpoint_.complete_request();
    EXPECT_FALSE(endpoint_.oldest_open()) << "the end of the input is no chunk";
}

TEST_F(EndpointTest, GivesTheReasonToEverythingThatIsWaitedForNowOrLaterOnceAbandoned) {
    const Ticket asked_before = endpoint_.request(bytes_);
    const Event delivered_before = endpoint_.deliver({0, 0, 1}, bytes_);

    endpoint_.abandon(std::make_exception_ptr(std::runtime_error("rank 3 is gone")));

    EXPECT_THROW(asked_before.arrived.wait(), std::runtime_error);
    EXPECT_THROW(delivered_before.wait(), std::runtime_error);
    EXPECT_THROW(endpoint_.request(bytes_).arrived.wait(), std::runtime_error);
    EXPECT_THROW(endpoint_.deliver({0, 0, 1}, bytes_).wait(), std::runtime_error);
}

TEST_F(EndpointTest, HoldsADriverThatFailedUntilItIsAbandoned) {
    const auto sick = std::make_exception_ptr(std::runtime_error("sick"));
    std::atomic<bool> returned{false};

    std::thread driver([&] {
        endpoint_.close(sick);
        returned = true;
    });
    Post post;
    while (!endpoint_.take(post)) {
        std::this_thread::yield();
    }
    EXPECT_EQ(post.kind, Post::Kind::closed);
    EXPECT_EQ(endpoint_.failure(), sick);
    EXPECT_FALSE(returned) << "its buffers are still named by open requests";
    endpoint_.abandon(sick);
    driver.join();

    EXPECT_TRUE(returned);
}

}  // namespace
}  // namespace sluice
