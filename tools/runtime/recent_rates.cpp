#include "tools/runtime/recent_rates.hpp"

#include <chrono>
#include <utility>

namespace sluice {
namespace {

constexpr std::chrono::seconds recent{10};

}  // namespace

double per_second(std::uint64_t count, Seconds time) {
    return time.count() > 0 ? static_cast<double>(count) / time.count() : 0;
}

void RecentRates::take(RunStatus& status, Instant now) {
    Sample sample{.at = now, .items = status.items_done - status.items_before};
    for (const RankStatus& rank : status.ranks) {
        sample.of_rank.push_back(rank.items);
    }
    while (samples_.size() > 1 && now - samples_[1].at >= recent) {
        samples_.pop_front();
    }
    if (!samples_.empty()) {
        const Sample& before = samples_.front();
        const Seconds time = now - before.at;
        status.items_per_second = per_second(sample.items - before.items, time);
        for (std::size_t rank = 0; rank < status.ranks.size(); ++rank) {
            status.ranks[rank].items_per_second = per_second(sample.of_rank[rank] - before.of_rank[rank], time);
        }
        status.slowest = find_slowest(status.ranks);
    }
    samples_.push_back(std::move(sample));
}

}  // namespace sluice
