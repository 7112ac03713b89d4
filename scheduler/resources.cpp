#include "scheduler/resources.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice {

using std::chrono::nanoseconds;

namespace {

/// Combined rate of parallel instances, in items per second.
class RatesTogether {
public:
    void add(std::uint64_t items, double rate) {
        passed_ += static_cast<double>(items);
        rate_ += rate;
        longest_ = std::max(longest_, static_cast<double>(items) / rate);
    }

    /// Rate for `items`, of which only some may pass these instances. If more pass, such as those read ahead by a run
    /// that ends early, all of them count. nullopt: no instance.
    [[nodiscard]] std::optional<double> rate(std::uint64_t items, Distribution distribution) const {
        if (passed_ == 0) {
            return std::nullopt;
        }
        const double all = std::max(passed_, static_cast<double>(items));
        return all / (distribution == Distribution::fixed ? longest_ : passed_ / rate_);
    }

private:
    double passed_ = 0;
    double rate_ = 0;
    double longest_ = 0;  // seconds
};

}  // namespace

std::span<const ResourceKind* const> kinds_of_run(std::size_t ranks) {
    using namespace resource_kinds;
    static constexpr std::array<const ResourceKind*, 7> one_process{&readers,  &copies,      &upload, &compute,
                                                                    &download, &comm_thread, &writer};
    static constexpr std::array<const ResourceKind*, 8> several{&readers, &link,     &copies,    &upload,
                                                                &compute, &download, &link_back, &writer};
    return ranks > 1 ? std::span<const ResourceKind* const>(several) : one_process;
}

bool is_of_devices(Stage stage) {
    return stage == Stage::upload || stage == Stage::compute || stage == Stage::download;
}

bool is_of_devices(const ResourceKind& kind) {
    return kind.of_devices.value_or(is_of_devices(*kind.stages[0]));
}

bool does(const ResourceKind& kind, Stage stage) {
    return std::ranges::find(kind.stages, stage) != kind.stages.end();
}

std::vector<Instance> instances_of(std::span<const RankReport> ranks, const ResourceKind& kind) {
    std::map<std::pair<int, std::string>, Instance> found;
    for (const RankReport& rank : ranks) {
        for (const InstanceTotals& totals : rank.breakdown.instances) {
            if (does(kind, totals.stage) && totals.of_device == kind.of_devices.value_or(totals.of_device)) {
                Instance& instance = found[{rank.rank, totals.name}];
                instance.rank = rank.rank;
                instance.name = totals.name;
                instance.busy += totals.busy;
                instance.of_stage[totals.stage == *kind.stages[0] ? 0 : 1] += totals.busy;
                instance.items = std::max(instance.items, totals.items);
                instance.delayed = instance.delayed ? instance.delayed : totals.delayed;
                instance.steady = instance.steady ? instance.steady : totals.steady;
            }
        }
    }
    std::vector<Instance> instances;
    instances.reserve(found.size());
    for (auto& [key, instance] : found) {
        instances.push_back(std::move(instance));
    }
    return instances;
}

std::optional<double> capacity_of(const std::vector<Instance>& instances, std::uint64_t items,
                                  Distribution distribution) {
    RatesTogether together;
    for (const Instance& instance : instances) {
        if (instance.items == 0) {
            continue;
        }
        if (instance.busy.count() == 0) {
            return std::nullopt;
        }
        together.add(instance.items, 1 / instance.pace());
    }
    return together.rate(items, distribution);
}

std::optional<double> completion_rate(const std::vector<Instance>& devices, std::uint64_t items,
                                      Distribution distribution) {
    RatesTogether together;
    for (const Instance& device : devices) {
        if (const auto rate = device.steady ? device.steady->rate() : std::nullopt) {
            together.add(device.items, *rate);
        }
    }
    return together.rate(items, distribution);
}

double mean_time(const std::vector<Instance>& instances) {
    double busy = 0;
    double items = 0;
    for (const Instance& instance : instances) {
        busy += Seconds(instance.busy).count();
        items += static_cast<double>(instance.items);
    }
    return items == 0 ? 0 : busy / items;
}

double Instance::pace() const {
    const bool has_stretch = steady && steady->busy.count() > 0;
    return Seconds(has_stretch ? steady->busy : busy).count() /
           static_cast<double>(has_stretch ? steady->items : items);
}

Stage Resource::main_stage() const {
    std::array<nanoseconds, 2> sums{};
    for (const Instance& instance : instances) {
        sums[0] += instance.of_stage[0];
        sums[1] += instance.of_stage[1];
    }
    return *kind->stages[sums[1] > sums[0] ? 1 : 0];
}

std::vector<Resource> resources_of(const RunReport& run) {
    std::vector<Resource> resources;
    for (const ResourceKind* const kind : kinds_of_run(run.ranks.size())) {
        Resource resource{.kind = kind, .instances = instances_of(run.ranks, *kind)};
        const auto distribution = is_of_devices(*kind) ? run.distribution : Distribution::pull;
        if (const auto capacity = capacity_of(resource.instances, run.items_done, distribution)) {
            resource.capacity = *capacity;
            resources.push_back(std::move(resource));
        }
    }
    std::ranges::stable_sort(resources, {}, &Resource::capacity);
    return resources;
}

}  // namespace sluice
