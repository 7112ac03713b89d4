#include "scheduler/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr double poor_share = 0.8;     // below, something besides the binding stage costs enough to be named
constexpr double telling_share = 0.1;  // of the run; a shorter row of the wall view does not explain a poor share
constexpr double uneven_share =
    1.25;  // longest busy time over the mean; a last round by itself stays below on any real job

double seconds(nanoseconds time) {
    return Seconds(time).count();
}

std::string_view advice(Stage stage) {
    switch (stage) {
        case Stage::read:
            return "a faster file system, or an input in a compact format (.u8 or uint8 .npy), helps; more devices do "
                   "not";
        case Stage::scatter:
            return "a faster network out of rank 0's node helps; more devices do not";
        case Stage::upload:
            return "more devices with links of their own, or ranks bound near their devices, help";
        case Stage::compute:
            return "more devices help";
        case Stage::download:
            return "a smaller output (scores = false), or more devices with links of their own, helps";
        case Stage::gather:
            return "a smaller output (scores = false), or a faster network into rank 0's node, helps; more devices do "
                   "not";
        case Stage::write:
            return "a faster file system, or output as .npy, helps; more devices do not";
    }
    return {};
}

/// The instances of one stage on all ranks.
struct Resource {
    std::optional<double> capacity;
    int busiest_rank = 0;
    std::string busiest_name;
    nanoseconds longest{0};
    nanoseconds sum{0};
    std::size_t working = 0;
    std::size_t idle = 0;
};

Resource measure(std::span<const RankReport> ranks, Stage stage, std::uint64_t items) {
    Resource resource;
    double rate = 0;
    double passed = 0;
    bool instant = false;
    for (const RankReport& rank : ranks) {
        for (const InstanceTotals& instance : rank.breakdown.instances) {
            if (instance.stage != stage) {
                continue;
            }
            if (instance.items == 0) {
                ++resource.idle;
                continue;
            }
            ++resource.working;
            passed += static_cast<double>(instance.items);
            resource.sum += instance.busy;
            if (instance.busy > resource.longest) {
                resource.longest = instance.busy;
                resource.busiest_rank = rank.rank;
                resource.busiest_name = instance.name;
            }
            instant = instant || instance.busy == nanoseconds(0);
            rate += instant ? 0 : static_cast<double>(instance.items) / seconds(instance.busy);
        }
    }
    if (rate > 0 && !instant) {  // work in no time at all: this stage cannot bind
        resource.capacity = rate * static_cast<double>(items) / passed;
    }
    return resource;
}

struct WallRow {
    std::string_view name;
    nanoseconds time{0};
    std::string_view remedy;
};

/// The row of the wall view that took the most besides `binding`.
WallRow longest_other(const WallView& wall, Stage binding) {
    WallRow longest{"start-up", wall.startup, "a larger input makes it matter less"};
    const auto consider = [&longest](std::string_view name, nanoseconds time, std::string_view remedy) {
        if (time > longest.time) {
            longest = {name, time, remedy};
        }
    };
    consider("waiting", wall.waiting, "nothing was busy then; more chunks in flight (pipeline.depth) may fill it");
    for (const Stage stage : all_stages) {
        if (stage != binding) {
            consider(to_string(stage), wall.stages[index_of(stage)],
                     "nothing hid it; pipeline.mode = \"overlap\" and a larger pipeline.depth do");
        }
    }
    return longest;
}

std::string next_limit(const Verdict& verdict) {
    std::optional<Stage> next;
    for (const Stage stage : all_stages) {
        const std::optional<double>& capacity = verdict.capacity[index_of(stage)];
        if (stage != verdict.binding && capacity && (!next || *capacity < *verdict.capacity[index_of(*next)])) {
            next = stage;
        }
    }
    return next ? fmt::format("; the next limit is {} at {} items/s", to_string(*next),
                              rate_text(*verdict.capacity[index_of(*next)]))
                : std::string();
}

void add_notes(Verdict& verdict, const Resource& resource, std::span<const RankReport> ranks) {
    const Stage binding = *verdict.binding;
    if (verdict.share >= poor_share) {
        verdict.notes.push_back(fmt::format("NOTE: {}{}", advice(binding), next_limit(verdict)));
    }
    if (resource.idle > 0) {
        verdict.notes.push_back(fmt::format(
            "NOTE: {} of {} had no chunk for {}; a smaller pipeline.chunk_items, or fewer devices, suits this job",
            resource.idle, resource.idle + resource.working, to_string(binding)));
    }
    const double mean = seconds(resource.sum) / static_cast<double>(resource.working);
    if (seconds(resource.longest) > uneven_share * mean) {
        verdict.notes.push_back(
            fmt::format("NOTE: uneven {}: {} on rank {} was busy {:.3f} s, the mean is {:.3f} s; smaller chunks and "
                        "pipeline.distribution = \"pull\" even it out",
                        to_string(binding), resource.busiest_name, verdict.rank, seconds(resource.longest), mean));
    }
    const auto report = std::find_if(ranks.begin(), ranks.end(),
                                     [&](const RankReport& candidate) { return candidate.rank == verdict.rank; });
    if (verdict.share < poor_share && report->breakdown.run > nanoseconds(0)) {
        const WallRow row = longest_other(report->breakdown.wall, binding);
        const double part = seconds(row.time) / seconds(report->breakdown.run);
        if (part >= telling_share) {
            verdict.notes.push_back(fmt::format("NOTE: {} took {:.1f} % of the run on rank {}: {}", row.name,
                                                100 * part, verdict.rank, row.remedy));
        } else {
            verdict.notes.push_back(fmt::format(
                "NOTE: {} was in progress almost all the time, but each device or thread was busy for {:.1f} % of the "
                "run on average; smaller chunks (pipeline.chunk_items) or a larger pipeline.depth may fill it",
                to_string(binding), 100 * mean / seconds(wall_time(ranks))));
        }
    }
}

}  // namespace

nanoseconds wall_time(std::span<const RankReport> ranks) {
    if (ranks.empty()) {
        return nanoseconds(0);
    }
    nanoseconds start = ranks.front().milestones.start;
    nanoseconds finish = ranks.front().milestones.finish;
    for (const RankReport& rank : ranks) {
        start = std::min(start, rank.milestones.start);
        finish = std::max(finish, rank.milestones.finish);
    }
    return finish - start;
}

Verdict judge(std::span<const RankReport> ranks, std::uint64_t items) {
    Verdict verdict;
    if (items == 0) {
        verdict.line = "nothing to do: 0 items";
        return verdict;
    }
    if (std::any_of(ranks.begin(), ranks.end(),
                    [](const RankReport& rank) { return !rank.breakdown.invalid.empty(); })) {
        verdict.line = "no verdict: the timers are invalid";
        return verdict;
    }
    const nanoseconds wall = wall_time(ranks);
    Resource binding;
    for (const Stage stage : all_stages) {
        Resource resource = measure(ranks, stage, items);
        verdict.capacity[index_of(stage)] = resource.capacity;
        if (resource.capacity && (!verdict.binding || *resource.capacity < *binding.capacity)) {
            verdict.binding = stage;
            binding = std::move(resource);
        }
    }
    if (!verdict.binding || wall <= nanoseconds(0)) {
        verdict.binding.reset();
        verdict.line = "no verdict: no stage recorded any time";
        return verdict;
    }
    verdict.rank = binding.busiest_rank;
    verdict.achieved = static_cast<double>(items) / seconds(wall);
    verdict.achievable = *binding.capacity;
    verdict.share = verdict.achieved / verdict.achievable;
    verdict.line =
        fmt::format("{} on rank {} binds: {} of {} items/s ({:.1f} %)", to_string(*verdict.binding), verdict.rank,
                    rate_text(verdict.achieved), rate_text(verdict.achievable), 100 * verdict.share);
    add_notes(verdict, binding, ranks);
    return verdict;
}

std::string rate_text(double per_second) {
    if (per_second < 1) {
        return fmt::format("{:.3g}", per_second);
    }
    if (per_second < 10) {
        return fmt::format("{:.2f}", per_second);
    }
    if (per_second < 100) {
        return fmt::format("{:.1f}", per_second);
    }
    return fmt::format("{:.0f}", per_second);
}

}  // namespace sluice
