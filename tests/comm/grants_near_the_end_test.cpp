#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "comm/chunk_server.hpp"
#include "core/files/checksum.hpp"
#include "tests/support/fake_job.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct Devices {
    std::vector<milliseconds> chunk_times{};  ///< Of each device, which is the only one of its rank.
    std::uint32_t depth = 3;
    std::uint32_t lag = 0;
    std::uint64_t first_chunk = 0;
    std::optional<std::uint64_t> drains_after{};  ///< Chunks that have come back.
};

/// Devices that compute one chunk after the other in a time that passes only here, and request chunks of a server as
/// drivers do.
class Simulation {
public:
    Simulation(std::uint64_t chunks, const Devices& devices)
        : devices_(devices),
          grid_(ChunkGrid(chunks, 1).from(devices.first_chunk)),
          source_(chunks),
          input_(source_, grid_, {.input_bytes = test::fake_input_bytes, .staged = room()}, bell_),
          results_(writer_, grid_, test::fake_output_bytes, room(), bell_),
          server_(grid_, input_, results_,
                  {.devices_of_rank = std::vector<std::uint32_t>(devices.chunk_times.size(), 1),
                   .depth = devices.depth,
                   .lag = devices.lag}),
          queues_(devices.chunk_times.size()),
          free_at_(devices.chunk_times.size(), now_),
          computed_(devices.chunk_times.size()) {
        for (std::uint64_t id = devices.first_chunk; id < chunks; ++id) {
            for (std::uint32_t seen = bell_.listen(); !input_.take(id); seen = bell_.listen()) {
                bell_.wait(seen);
            }
        }
    }

    /// Chunks computed by each device. Fails where no device has anything to do, and some are not done.
    std::vector<std::uint64_t> run() {
        for (std::uint32_t device = 0; device < queues_.size(); ++device) {
            for (std::uint32_t slot = 0; slot < devices_.depth; ++slot) {
                server_.request({static_cast<int>(device), 0, slot});
            }
        }
        grant();
        while (ended_ != queues_.size() * devices_.depth) {
            const std::optional<std::uint32_t> next = next_done();
            if (!next) {
                ADD_FAILURE() << "all devices are idle, and requests are not answered";
                break;
            }
            finish(*next);
            grant();
        }
        return computed_;
    }

    [[nodiscard]] std::uint64_t granted() const { return granted_.size(); }
    [[nodiscard]] std::uint64_t most_held_at_first() const { return most_held_at_first_; }

private:
    struct Open {
        Chunk chunk;
        std::uint32_t slot;
        Instant done;
    };

    [[nodiscard]] std::uint32_t room() const {
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, grid_.chunks_left()));
    }

    void grant() {
        while (const auto grant = server_.next_grant(now_)) {
            const auto device = static_cast<std::uint32_t>(grant->to.rank);
            if (grant->chunk.end_of_input()) {
                ++ended_;
                continue;
            }
            EXPECT_TRUE(granted_.insert(grant->chunk.id).second) << "granted twice: " << grant->chunk.id;
            server_.release(grant->chunk);
            free_at_[device] = std::max(now_, free_at_[device]) + devices_.chunk_times[device];
            queues_[device].push_back({grant->chunk, grant->to.slot, free_at_[device]});
        }
        if (returned_ == 0) {
            for (const auto& queue : queues_) {
                most_held_at_first_ = std::max<std::uint64_t>(most_held_at_first_, queue.size());
            }
        }
    }

    [[nodiscard]] std::optional<std::uint32_t> next_done() const {
        std::optional<std::uint32_t> next;
        for (std::uint32_t device = 0; device < queues_.size(); ++device) {
            if (!queues_[device].empty() && (!next || queues_[device].front().done < queues_[*next].front().done)) {
                next = device;
            }
        }
        return next;
    }

    void finish(std::uint32_t device) {
        const Open open = queues_[device].front();
        queues_[device].erase(queues_[device].begin());
        while (now_ != open.done) {  // as often as the thread that watches for suspensions
            now_ = std::min(now_ + 200ms, open.done);
            server_.book().tick(now_, 0s);
        }
        const auto rank = static_cast<int>(device);
        server_.arrived(open.chunk, rank, checksum_of(server_.place(open.chunk, rank)), now_);
        ++computed_[device];
        if (++returned_ == devices_.drains_after) {
            server_.drain();
        }
        server_.request({rank, 0, open.slot});
    }

    Devices devices_;
    Doorbell bell_;
    ChunkGrid grid_;
    test::FakeSource source_;
    test::MemoryWriter writer_;
    ReadAhead input_;
    OrderedResults results_;
    ChunkServer server_;
    Instant now_ = Clock::now();
    std::vector<std::vector<Open>> queues_;
    std::vector<Instant> free_at_;
    std::vector<std::uint64_t> computed_;
    std::set<std::uint64_t> granted_;
    std::uint64_t returned_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t most_held_at_first_ = 0;
};

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(GrantsNearTheEnd, LeaveASlowDeviceNoMoreThanItFinishesInTime) {
    Simulation few(40, {.chunk_times = {50ms, 50ms, 1000ms}});
    EXPECT_EQ(few.run()[2], 2U);
    EXPECT_EQ(few.most_held_at_first(), 2U);

    Simulation many(400, {.chunk_times = {50ms, 50ms, 1000ms}});
    const std::vector<std::uint64_t> computed = many.run();
    EXPECT_EQ(many.most_held_at_first(), 3U);
    EXPECT_EQ(computed[2], 9U) << "the others need 9.75 s for the other 391";
}

TEST(GrantsNearTheEnd, DivideFewChunksEvenly) {
    EXPECT_EQ(Simulation(3, {.chunk_times = {10ms, 10ms, 10ms}}).run(), (std::vector<std::uint64_t>{1, 1, 1}));
    const std::vector<std::uint64_t> seven = Simulation(7, {.chunk_times = {10ms, 10ms, 10ms}}).run();
    EXPECT_EQ(std::ranges::max(seven), 3U);
}

TEST(GrantsNearTheEnd, GiveASingleDeviceAllThatItAsksFor) {
    Simulation single(5, {.chunk_times = {10ms}});

    EXPECT_EQ(single.run(), std::vector<std::uint64_t>{5});
    EXPECT_EQ(single.most_held_at_first(), 3U);
}

TEST(GrantsNearTheEnd, GiveAModelAsManyChunksAsItHoldsBackAndTwo) {
    Simulation simulation(8, {.chunk_times = {10ms, 10ms}, .depth = 4, .lag = 1});

    EXPECT_EQ(sum(simulation.run()), 8U);
    EXPECT_EQ(simulation.most_held_at_first(), 3U);
}

TEST(GrantsNearTheEnd, EndAllRequestsOfDevicesThatWaitWhenTheRunDrains) {
    Simulation simulation(30, {.chunk_times = {10ms, 10ms, 500ms}, .drains_after = 5});

    const std::uint64_t computed = sum(simulation.run());

    EXPECT_EQ(computed, simulation.granted());
    EXPECT_LT(computed, 30U);
}

TEST(GrantsNearTheEnd, AnswerEveryRequestWhateverDevicesTake) {
    for (const std::uint64_t chunks : {0U, 1U, 2U, 5U, 23U, 97U, 200U}) {
        for (const std::uint32_t depth : {1U, 2U, 3U, 5U}) {
            for (const std::vector<milliseconds>& times : {std::vector{10ms},
                                                           {10ms, 10ms},
                                                           {0ms, 0ms, 10ms},
                                                           {10ms, 11ms, 9ms, 10ms},
                                                           {500ms, 10ms, 30ms},
                                                           {7ms, 1000ms, 1000ms, 7ms, 60ms}}) {
                for (const std::uint64_t first_chunk : {std::uint64_t{0}, chunks / 2}) {
                    Simulation simulation(chunks, {.chunk_times = times, .depth = depth, .first_chunk = first_chunk});

                    EXPECT_EQ(sum(simulation.run()), chunks - first_chunk)
                        << times.size() << " devices, " << chunks << " chunks, depth " << depth;
                }
            }
        }
    }
}

}  // namespace
}  // namespace sluice
