#include "scheduler/tail.hpp"

#include <algorithm>
#include <vector>

#include "core/clock.hpp"
#include "scheduler/resources.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr double long_wait = 0.1;  // of the tail

struct Worker {
    const RankReport* rank = nullptr;
    const InstanceTotals* compute = nullptr;
    nanoseconds done{0};

    /// Items a second.
    [[nodiscard]] double rate() const {
        return 1 / Instance{.busy = compute->busy, .items = compute->items, .steady = compute->steady}.pace();
    }
};

/// Devices that have computed, of all ranks.
std::vector<Worker> workers_of(const RunReport& run) {
    std::vector<Worker> workers;
    for (const RankReport& rank : run.ranks) {
        auto done = rank.milestones.last_compute.begin();
        for (const InstanceTotals& instance : rank.breakdown.instances) {
            if (instance.stage != Stage::compute || !instance.of_device || done == rank.milestones.last_compute.end()) {
                continue;
            }
            if (*done && instance.items != 0 && instance.busy.count() != 0) {
                workers.push_back({.rank = &rank, .compute = &instance, .done = **done});
            }
            ++done;
        }
    }
    return workers;
}

}  // namespace

std::optional<Tail> find_tail(const RunReport& run) {
    const std::vector<Worker> workers = workers_of(run);
    if (workers.size() < 2) {
        return std::nullopt;
    }
    const Worker& first = *std::ranges::min_element(workers, {}, &Worker::done);
    const Worker& last = *std::ranges::max_element(workers, {}, &Worker::done);
    const auto waited = [&](const Worker& worker) {
        return last.done - worker.done - suspended_between(*worker.rank, worker.done, last.done);
    };
    const nanoseconds time = waited(first);
    if (time <= run.clock_error()) {
        return std::nullopt;
    }
    Tail tail{.rank = last.rank->rank,
              .name = last.compute->name,
              .time = Seconds(time).count(),
              .chunk = run.chunk_items / last.rate()};
    double rates = 0;
    double items = 0;
    nanoseconds begun = last.done;
    for (const Worker& worker : workers) {
        const double wait = Seconds(waited(worker)).count();
        tail.waiting += wait >= long_wait * tail.time ? 1U : 0U;
        tail.cost += worker.rate() * wait;
        rates += worker.rate();
        items += static_cast<double>(worker.compute->items);
        for (const RelativeMilestones::Moment& moment : worker.rank->milestones.first_compute) {
            begun = std::min(begun, moment.value_or(begun));
        }
    }
    tail.cost /= rates;
    const nanoseconds computing = last.done - begun - suspended_between(*last.rank, begun, last.done);
    tail.is_in_the_way = items / (rates - last.rate()) < Seconds(computing).count();
    return tail;
}

}  // namespace sluice
