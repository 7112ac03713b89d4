#include "core/sync/stop_request.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace sluice {
namespace {

TEST(StopRequest, KeepsSignalAndReasonOfTheFirst) {
    Doorbell bell;
    StopRequest stop(bell);
    EXPECT_EQ(stop.signal(), 0);
    EXPECT_EQ(stop.reason(), StopReason::signal);

    stop.ask(SIGUSR1, StopReason::time_limit);
    stop.ask(SIGTERM);

    EXPECT_EQ(stop.signal(), SIGUSR1);
    EXPECT_EQ(stop.reason(), StopReason::time_limit);
}

TEST(StopRequest, KeepsTheLastEndOfChunks) {
    Doorbell bell;
    StopRequest stop(bell);
    EXPECT_EQ(stop.chunks_end(), Instant::max());

    const Instant end = Clock::now();
    stop.end_chunks_by(end);
    EXPECT_EQ(stop.chunks_end(), end);
    stop.end_chunks_by(Instant::max());
    EXPECT_EQ(stop.chunks_end(), Instant::max());
}

TEST(StopRequest, RingsTheBellAtEach) {
    Doorbell bell;
    StopRequest stop(bell);

    for (const int signal : {SIGTERM, SIGINT}) {
        const std::uint32_t before = bell.listen();
        stop.ask(signal);
        EXPECT_NE(bell.listen(), before);
    }
}

}  // namespace
}  // namespace sluice
