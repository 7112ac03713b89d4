#include "tests/scheduler/run_reports.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace sluice::test {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

RankReport example_rank(int rank, std::string host, std::size_t devices) {
    RankReport report;
    report.rank = rank;
    report.host = std::move(host);
    report.milestones = {.start = rank * 1us,
                         .buffers_ready = 100us,
                         .devices_ready = 200us,
                         .scatter_begin = 300us,
                         .scatter_end = rank == 0 ? RelativeMilestones::Moment(nanoseconds(5s)) : std::nullopt,
                         .first_compute = {},
                         .compute_end = 9s,
                         .delivered = 9500ms,
                         .finish = 10s};
    for (std::size_t device = 0; device < devices; ++device) {
        report.milestones.first_compute.emplace_back((static_cast<int>(device) + 1) * 10ms);
        report.breakdown.instances.push_back({Stage::compute, "device", 9s, 1000, 0});
    }
    report.breakdown.run = 10s;
    report.breakdown.stages[index_of(Stage::compute)] = {
        .busy = 18s, .active = 9s, .exposed = 8s, .chunks = 3, .items = 1000};
    report.breakdown.wall.stages[index_of(Stage::compute)] = 8s;
    report.breakdown.wall.overlapped = 1s;
    report.breakdown.wall.phases[static_cast<std::size_t>(Phase::devices)] = 200us;
    report.breakdown.wall.waiting = 10s - 9s - 200us;
    return report;
}

RunReport example_run(int ranks, std::size_t devices) {
    RunReport report{.items = 1000,
                     .items_done = 1000,
                     .chunks = 16,
                     .chunk_items = 64,
                     .depth = 3,
                     .ranks = {},
                     .clock_rounds = 32,
                     .output_path = "labels.csv",
                     .report_path = "report.json"};
    for (int rank = 0; rank < ranks; ++rank) {
        report.ranks.push_back(example_rank(rank, fmt::format("n{}", rank), devices));
        report.ranks.back().clock.error = rank == 0 ? 0ns : 3140ns;
        for (InstanceTotals& instance : report.ranks.back().breakdown.instances) {
            instance.items = report.items / (static_cast<std::uint64_t>(ranks) * devices);
        }
    }
    return report;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> row(const std::string& text, const std::string& label) {
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with(fmt::format("{}  ", label))) {
            std::istringstream cells(line.substr(label.size()));
            return {std::istream_iterator<std::string>(cells), {}};
        }
    }
    return {};
}

}  // namespace sluice::test
