#include "scheduler/link_times.hpp"

#include <algorithm>

namespace sluice {

void count_receipts(std::span<RankReport> ranks, std::span<LinkTraffic> links) {
    if (ranks.empty()) {
        return;
    }
    std::chrono::nanoseconds longest{0};
    for (const RankReport& rank : ranks.subspan(1)) {
        longest = std::max(longest, rank.breakdown.receiving);
        for (LinkTraffic& link : links) {
            if (link.rank == rank.rank) {
                link.sending = std::max(link.sending, rank.breakdown.receiving);
            }
        }
    }
    Breakdown& root = ranks.front().breakdown;
    for (InstanceTotals& instance : root.instances) {
        if (instance.stage == Stage::scatter) {
            instance.busy = std::max(instance.busy, std::min(longest, root.run));
        }
    }
}

}  // namespace sluice
