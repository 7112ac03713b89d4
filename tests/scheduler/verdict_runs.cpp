#include "tests/scheduler/verdict_runs.hpp"

#include <fmt/format.h>

#include <utility>

namespace sluice::test {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

InstanceTotals device(Stage stage, nanoseconds busy, std::uint64_t items, int number) {
    return {.stage = stage,
            .name = fmt::format("device {} (host)", number),
            .busy = busy,
            .items = items,
            .of_device = true};
}

InstanceTotals thread(Stage stage, std::string name, nanoseconds busy, std::uint64_t items) {
    return {.stage = stage, .name = std::move(name), .busy = busy, .items = items};
}

RankReport rank_of(int rank, nanoseconds first, nanoseconds written, nanoseconds finish,
                   std::vector<InstanceTotals> instances) {
    RankReport report;
    report.rank = rank;
    report.host = fmt::format("n0{}", rank);
    report.milestones.first_compute = {first};
    report.milestones.written = written;
    report.milestones.finish = finish;
    report.breakdown.run = finish;
    report.breakdown.instances = std::move(instances);
    report.device_chunks = {{ChunkDurations{}}};
    return report;
}

RankReport busy_rank(Stage stage, nanoseconds busy, std::uint64_t items) {
    RankReport report = rank_of(0, 0s, busy, busy, {device(stage, busy, items)});
    report.breakdown.written = {.items = items, .time = busy};
    return report;
}

RunReport run_of(const std::vector<RankReport>& ranks, std::uint64_t items) {
    return {.items = items,
            .items_done = items,
            .chunk_items = 10,
            .depth = 3,
            .queues = {.staged = 2, .window = 2},
            .device = DeviceKind::cuda,
            .ranks = ranks};
}

}  // namespace sluice::test
