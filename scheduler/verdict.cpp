#include "scheduler/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/text/wording.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr double binding_share = 0.8;         // of its capacity: a resource at or above it binds
constexpr double never_waiting_share = 0.95;  // of their capacity: devices at or above it do not wait for others
constexpr double most_over_capacity = 1.25;   // of a steady rate, by the errors of both
constexpr double long_part = 0.5;             // of the run, for start-up or the end to bind
constexpr double least_tail = 0.05;           // of the run: below, it is not named
constexpr double straggler_factor = 1.25;
constexpr std::size_t least_chunks_to_compare = 3;  // per device: fewer are not significant
constexpr double contended_share = 0.2;             // of a thread's busy time
constexpr double contended_in_run = 0.05;           // of the run: below, the waits cost nothing that matters
constexpr double throttled_share = 0.05;            // of the run
constexpr double least_load = 0.25;                 // of its capacity: below, a resource's threads do not matter
constexpr std::size_t most_stragglers = 3;

double seconds(nanoseconds time) {
    return Seconds(time).count();
}

void add_capacities(Verdict& verdict, const RunReport& run) {
    for (const Stage stage : all_stages) {
        std::optional<double>& least = verdict.capacity[index_of(stage)];
        for (const bool of_devices : {false, true}) {
            const ResourceKind kind{.name = {}, .stages = {stage}, .of_devices = of_devices};
            const auto capacity = capacity_of(instances_of(run.ranks, kind), run.items_done, Distribution::pull);
            least = least && capacity ? std::min(least, capacity) : least ? least : capacity;
        }
    }
}

double rate_of(const Instance& instance) {
    return static_cast<double>(instance.items) / seconds(instance.busy);
}

/// Devices with enough chunks to compare that are much slower than the median.
void find_stragglers(Verdict& verdict, const RunReport& run, const std::vector<Resource>& resources) {
    const auto compute =
        std::ranges::find_if(resources, [](const Resource& resource) { return does(*resource.kind, Stage::compute); });
    if (compute == resources.end() || compute->capacity * least_load > verdict.steady) {
        return;
    }
    std::vector<Instance> compared;
    std::ranges::copy_if(compute->instances, std::back_inserter(compared), [&](const Instance& instance) {
        return instance.busy.count() > 0 && instance.items >= least_chunks_to_compare * std::uint64_t{run.chunk_items};
    });
    if (compared.size() < 2) {
        return;
    }
    std::ranges::sort(compared, {}, rate_of);
    const double usual = rate_of(compared[compared.size() / 2]);
    const bool decides = verdict.bound == Bound::stage && verdict.binding == Stage::compute;
    for (const Instance& instance : compared) {
        const double rate = rate_of(instance);
        if (rate * straggler_factor > usual || verdict.stragglers.size() == most_stragglers) {
            break;
        }
        const double serving = static_cast<double>(run.items_done) / verdict.steady;
        const double cost = run.distribution == Distribution::fixed
                                ? seconds(instance.busy) - static_cast<double>(instance.items) / usual
                                : serving * (1 - compute->capacity / (compute->capacity - rate + usual));
        verdict.stragglers.push_back(
            {.rank = instance.rank, .name = instance.name, .rate = rate, .usual = usual, .cost = decides ? cost : 0});
    }
    std::ranges::sort(verdict.stragglers, {},
                      [](const Straggler& straggler) { return std::pair(-straggler.cost, straggler.rate); });
}

/// Only threads with much to do: delays of others do not matter.
void find_contention(Verdict& verdict, const std::vector<Resource>& resources, double wall) {
    for (const Resource& resource : resources) {
        if (resource.capacity * least_load > verdict.steady) {
            continue;
        }
        nanoseconds busy{0};
        nanoseconds delayed{0};
        double threads = 0;
        for (const Instance& instance : resource.instances) {
            if (instance.delayed) {
                busy += instance.busy;
                delayed += std::min(*instance.delayed, instance.busy);
                ++threads;
            }
        }
        if (busy.count() > 0 && seconds(delayed) >= contended_share * seconds(busy) &&
            seconds(delayed) >= contended_in_run * wall * threads) {
            verdict.contended.push_back({.stage = resource.main_stage(), .share = seconds(delayed) / seconds(busy)});
        }
    }
}

void find_throttled(Verdict& verdict, std::span<const RankReport> ranks, double wall) {
    for (const RankReport& rank : ranks) {
        const std::optional<CpuThrottling>& lost = rank.facts.throttling;
        if (lost && seconds(lost->time) > throttled_share * wall &&
            (!verdict.throttled || lost->time > verdict.throttled->by_quota.time)) {
            verdict.throttled = {.rank = rank.rank, .host = rank.host, .by_quota = *lost};
        }
    }
}

/// The phase in [from, to], or "waiting", that took most of `wall`.
std::pair<std::string_view, nanoseconds> longest_phase(const WallView& wall, Phase from, Phase to) {
    std::pair<std::string_view, nanoseconds> longest{"waiting", nanoseconds(0)};
    for (auto phase = static_cast<std::size_t>(from); phase <= static_cast<std::size_t>(to); ++phase) {
        if (wall.phases[phase] > longest.second) {
            longest = {to_string(static_cast<Phase>(phase)), wall.phases[phase]};
        }
    }
    return longest;
}

/// The same of start-up, in whose time without a phase the first items come to a device.
std::pair<std::string_view, nanoseconds> longest_of_startup(const WallView& wall, double startup) {
    auto longest = longest_phase(wall, Phase::launch, Phase::suspects);
    nanoseconds left = std::chrono::round<nanoseconds>(Seconds(startup));
    for (auto phase = static_cast<std::size_t>(Phase::launch); phase <= static_cast<std::size_t>(Phase::suspects);
         ++phase) {
        left -= wall.phases[phase];
    }
    for (const Stage stage : {Stage::read, Stage::parse, Stage::scatter, Stage::upload}) {
        if (const nanoseconds time = std::min(wall.stages[index_of(stage)], left); time > longest.second) {
            longest = {to_string(stage), time};
        }
    }
    return longest;
}

std::string line_of(const Verdict& verdict, const RunReport& run, double wall) {
    const WallView& root = run.ranks.front().breakdown.wall;
    const auto part = [&](std::string_view name, double time, const std::pair<std::string_view, nanoseconds>& longest) {
        return fmt::format("{} binds: {} of {}{}", name, time_text(time), time_text(wall),
                           longest.second.count() == 0
                               ? ""
                               : fmt::format("; its longest part is {}, {}", longest.first,
                                             time_text(std::min(seconds(longest.second), time))));
    };
    switch (verdict.bound) {
        case Bound::startup:
            return part("start-up", verdict.startup, longest_of_startup(root, verdict.startup));
        case Bound::end:
            return part("the end", verdict.end, longest_phase(root, Phase::publish, Phase::finish));
        case Bound::tail:
            return fmt::format("the tail binds: others waited up to {} of {} for {} on rank {}, which costs {}",
                               time_text(verdict.tail->time), time_text(wall), verdict.tail->name, verdict.tail->rank,
                               time_text(verdict.tail->cost));
        case Bound::stage:
        case Bound::nothing:
            break;
        case Bound::unknown:
            return {};
    }
    const std::string rates = fmt::format("{} of {} items/s ({:.1f} %)", rate_text(verdict.steady),
                                          rate_text(verdict.achievable), 100 * verdict.share);
    if (verdict.bound == Bound::nothing) {
        return fmt::format("nothing binds: {} comes closest with {}", to_string(*verdict.binding), rates);
    }
    return fmt::format("{}{} binds: {}", to_string(*verdict.binding),
                       verdict.rank ? fmt::format(" on rank {}", *verdict.rank) : "", rates);
}

/// What binds, if anything does: the resource of least capacity. That of one whose busy time includes waits is only
/// known to be no less: devices that never wait for it bind before it does.
const Resource& binding_resource(const RunReport& run, const std::vector<Resource>& resources) {
    const Resource& least = resources.front();
    const auto compute =
        std::ranges::find_if(resources, [](const Resource& resource) { return does(*resource.kind, Stage::compute); });
    if (!least.kind->includes_waits || compute == resources.end()) {
        return least;
    }
    const std::optional<double> rate = completion_rate(compute->instances, run.items_done, run.distribution);
    return rate && *rate >= never_waiting_share * compute->capacity ? *compute : least;
}

/// If devices have the least capacity, they work independently and their rates add up. Otherwise they share what binds:
/// one that starts later slows the others, so their rates do not add up, but results are written evenly. nullopt:
/// unknown, also if results that waited for an earlier one were written in a burst, faster than `least` can. It may be
/// a little more than `least.capacity`, which is measured over other times.
std::optional<double> steady_rate(const RunReport& run, const Resource& least) {
    const auto computes = instances_of(run.ranks, resource_kinds::compute);
    const auto devices =
        is_of_devices(*least.kind) ? completion_rate(computes, run.items_done, run.distribution) : std::nullopt;
    const std::optional<SteadyStretch>& written = run.ranks.front().breakdown.written;
    const std::optional<double> rate = devices ? devices : written ? written->rate() : std::nullopt;
    return rate && *rate <= most_over_capacity * least.capacity ? rate : std::nullopt;
}

/// Of the rank that started first.
nanoseconds start_of(std::span<const RankReport> ranks) {
    const auto start = [](const RankReport& rank) { return rank.milestones.start; };
    return start(*std::ranges::min_element(ranks, {}, start));
}

/// Measures the times before the first and after the last chunk, and those that do not count.
void measure_ends(Verdict& verdict, const RunReport& run) {
    std::optional<nanoseconds> first;
    for (const RankReport& rank : run.ranks) {
        for (const RelativeMilestones::Moment& moment : rank.milestones.first_compute) {
            first = moment && (!first || *moment < *first) ? moment : first;
        }
    }
    const RankReport& root = run.ranks.front();
    const auto awake = [&](nanoseconds from, nanoseconds to) {
        return std::max(0.0, seconds(to - from - suspended_between(root, from, to)));
    };
    const RelativeMilestones& at = root.milestones;
    verdict.startup = first ? awake(start_of(run.ranks), *first) : 0;
    verdict.end = at.written ? awake(*at.written, at.finish) : 0;
    verdict.suspended = seconds(suspended_between(root, at.start, at.finish));
}

}  // namespace

nanoseconds wall_time(std::span<const RankReport> ranks) {
    if (ranks.empty()) {
        return nanoseconds(0);
    }
    const auto finish = [](const RankReport& rank) { return rank.milestones.finish; };
    return finish(*std::ranges::max_element(ranks, {}, finish)) - start_of(ranks);
}

Verdict judge(const RunReport& run) {
    Verdict verdict;
    if (!run.lost.empty()) {
        verdict.line = "no verdict: the times of the other ranks are lost";
        return verdict;
    }
    if (run.items_done == 0) {
        verdict.line = "nothing to do: 0 items";
        return verdict;
    }
    if (std::ranges::any_of(run.ranks, [](const RankReport& rank) { return !rank.breakdown.invalid.empty(); })) {
        verdict.line = "no verdict: the timers are invalid";
        return verdict;
    }
    const double wall = seconds(wall_time(run.ranks));
    const std::vector<Resource> resources = resources_of(run);
    if (resources.empty() || wall <= 0) {
        verdict.line = "no verdict: no stage recorded any time";
        return verdict;
    }
    add_capacities(verdict, run);
    measure_ends(verdict, run);
    const Resource& least = binding_resource(run, resources);
    verdict.binding = least.main_stage();
    verdict.resource = least.kind;
    const double awake = wall - verdict.suspended;
    verdict.achieved = static_cast<double>(run.items_done) / wall;
    verdict.achievable = least.capacity;
    verdict.steady =
        std::min(steady_rate(run, least).value_or(static_cast<double>(run.items_done) / awake), least.capacity);
    verdict.share = verdict.steady / verdict.achievable;
    const double serving = awake - verdict.startup - verdict.end;
    verdict.tail = find_tail(run);
    if (verdict.tail && verdict.tail->cost < least_tail * awake) {
        verdict.tail.reset();
    }
    const bool has_long_tail =
        run.distribution == Distribution::pull && verdict.tail && verdict.tail->cost > (1 - binding_share) * serving;
    verdict.bound = verdict.startup > long_part * awake ? Bound::startup
                    : verdict.end > long_part * awake   ? Bound::end
                    : has_long_tail                     ? Bound::tail
                    : verdict.share >= binding_share    ? Bound::stage
                                                        : Bound::nothing;
    find_stragglers(verdict, run, resources);
    find_contention(verdict, resources, awake);
    find_throttled(verdict, run.ranks, awake);
    verdict.gpu_limits = find_gpu_limits(run.ranks);
    if (verdict.bound == Bound::stage && verdict.binding == Stage::compute && !verdict.stragglers.empty() &&
        run.distribution == Distribution::fixed) {
        verdict.rank = verdict.stragglers.front().rank;
    }
    const RunTimes times{.startup = verdict.startup, .serving = serving, .end = verdict.end};
    Prediction prediction = predict_changes(
        run, times,
        {.links = &least == &resources.front(), .devices = !lacks_cpu(verdict, Stage::compute, run.device)});
    verdict.replayed = prediction.replayed;
    verdict.what_if = std::move(prediction.changes);
    verdict.line = line_of(verdict, run, awake);
    add_notes(verdict, run);
    return verdict;
}

}  // namespace sluice
