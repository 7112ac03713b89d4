#include "tests/support/thread_limit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <system_error>

#include "comm/shutdown_hook.hpp"
#include "core/device/driver_start.hpp"
#include "core/input/read_ahead.hpp"
#include "core/output/ordered_results.hpp"
#include "core/stage_error.hpp"
#include "core/sync/work_team.hpp"
#include "tests/support/fake_job.hpp"
#include "tools/runtime/driver_team.hpp"

namespace sluice {
namespace {

using test::FakeModel;
using test::FakeSource;
using test::MemoryWriter;
using test::ThreadLimit;

class FakeApp final : public LoadedApp {
public:
    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, const ModelRoom&) const override {
        return std::make_unique<FakeModel>();
    }
};

TEST(ThreadLimit, EndsTheHelpersThatRunWhenThereIsNoThreadForAnother) {
    const ThreadLimit limit(2);

    EXPECT_THROW(WorkTeam(4), std::system_error);
}

TEST(ThreadLimit, EndsTheReadersThatRunWhenThereIsNoThreadForAnother) {
    const FakeSource source(1000);
    const ChunkGrid grid(source.count(), 10);
    Doorbell bell;
    const ThreadLimit limit(2);

    EXPECT_THROW(ReadAhead(source, grid, {.input_bytes = test::fake_input_bytes, .staged = 2, .readers = 4}, bell),
                 std::system_error);
}

TEST(ThreadLimit, EndsTheDriversThatRunWhenThereIsNoThreadForAnother) {
    const FakeApp app;
    Doorbell bell;
    std::deque<Endpoint> endpoints;
    for (int i = 0; i < 4; ++i) {
        endpoints.emplace_back(2, bell);
    }
    const ThreadLimit limit(2);

    EXPECT_THROW(
        DriverTeam(app, endpoints,
                   {.places = std::vector<DevicePlace>(4), .pipeline = {.depth = 2, .chunk_items = 5}, .chunks = 100}),
        std::system_error);
}

TEST(ThreadLimit, LetsTheNextRankStartItsGpusWhereThereIsNoThreadToStartOnesOwn) {
    bool waited = false;
    bool passed_on = false;
    const ThreadLimit limit(0);

    const DriverStart start(
        {}, {.wait = [&](const std::stop_token&) { waited = true; }, .pass_on = [&] { passed_on = true; }});
    start.wait_for_turn();
    start.wait_for(0);

    EXPECT_TRUE(passed_on);
    EXPECT_FALSE(waited);
}

TEST(ThreadLimit, LeavesNothingBehindOfAWriterWithoutAThread) {
    MemoryWriter writer;
    Doorbell bell;
    const ThreadLimit limit(0);

    EXPECT_THROW(OrderedResults(writer, ChunkGrid(10, 1), test::fake_output_bytes, 2, bell), std::system_error);
}

TEST(ThreadLimit, KeepsNoLastActionFromBeingDone) {
    bool done = false;
    const ThreadLimit limit(0);

    EXPECT_TRUE(run_for(std::chrono::seconds(1), [&] { done = true; }));
    EXPECT_TRUE(run_for(std::chrono::seconds(1), [] { throw std::runtime_error("dropped"); }));

    EXPECT_TRUE(done);
}

TEST(ThreadLimit, IsDescribedAsALackOfResourcesAndNotAsADefect) {
    MemoryWriter writer;
    Doorbell bell;
    const ThreadLimit limit(0);

    Failure failure;
    try {
        const OrderedResults results(writer, ChunkGrid(10, 1), test::fake_output_bytes, 2, bell);
    } catch (...) {
        failure = describe(std::current_exception(), "rank 1 on n01");
    }

    EXPECT_EQ(failure.code, ExitCode::out_of_memory);
    EXPECT_EQ(failure.text.id, "E-MEM-108");
    EXPECT_EQ(failure.text.where, "rank 1 on n01");
}

}  // namespace
}  // namespace sluice
