#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/modes.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/report.hpp"

namespace sluice {

/// Stages that one kind of thread or engine alternates between.
///
/// A chunk's items are copied by the driver of its device, or sent by rank 0's comm thread.
struct ResourceKind {
    std::string_view name;
    std::array<std::optional<Stage>, 2> stages;
    bool includes_waits = false;  ///< A message is on its way until its receiver has taken it, however long it is busy.
    std::optional<bool> of_devices{};  ///< Only devices, or only host threads that serve several of them.
};
namespace resource_kinds {
inline constexpr ResourceKind readers{"readers", {Stage::read, Stage::parse}};
inline constexpr ResourceKind copies{"copies", {Stage::scatter}, false, true};
inline constexpr ResourceKind link{"link", {Stage::scatter}, true, false};
inline constexpr ResourceKind link_back{"link back", {Stage::gather}, true};
inline constexpr ResourceKind comm_thread{"comm thread", {Stage::gather}};
inline constexpr ResourceKind upload{"upload", {Stage::upload}};
inline constexpr ResourceKind compute{"compute", {Stage::compute}};
inline constexpr ResourceKind download{"download", {Stage::download}};
inline constexpr ResourceKind writer{"writer", {Stage::write, Stage::commit}};
}  // namespace resource_kinds

/// In a single process the comm thread copies outputs; between ranks, messages go both ways at once.
[[nodiscard]] std::span<const ResourceKind* const> kinds_of_run(std::size_t ranks);

/// Whether devices do it, not a host thread that serves several of them.
[[nodiscard]] bool is_of_devices(Stage stage);
[[nodiscard]] bool does(const ResourceKind& kind, Stage stage);

/// The same of a kind: each of its instances serves one device.
[[nodiscard]] bool is_of_devices(const ResourceKind& kind);

/// One thread, or one engine of a device.
struct Instance {
    int rank = 0;
    std::string name{};
    std::chrono::nanoseconds busy{0};
    std::array<std::chrono::nanoseconds, 2> of_stage{};
    std::uint64_t items = 0;
    std::optional<std::chrono::nanoseconds> delayed{};
    std::optional<SteadyStretch> steady{};  ///< As in InstanceTotals.

    /// Busy seconds per item, of a device in its steady stretch; >= 0.
    [[nodiscard]] double pace() const;
};

/// Instances of all ranks, ordered by rank and name.
[[nodiscard]] std::vector<Instance> instances_of(std::span<const RankReport> ranks, const ResourceKind& kind);

/// Items per second if no instance ever waited; for devices, as in their steady stretch. Scaled to all `items`, even if
/// not all pass these instances, but not down if more do. Where the items are distributed statically the slowest
/// decides. nullopt: no work, or work in zero time, which cannot bind.
[[nodiscard]] std::optional<double> capacity_of(const std::vector<Instance>& instances, std::uint64_t items,
                                                Distribution distribution);

/// Items per second completed by devices in their steady stretches. Only devices with two or more chunks are measured;
/// the others' items are assumed to come in the same time. With a static distribution the slowest decides. nullopt: no
/// such device.
[[nodiscard]] std::optional<double> completion_rate(const std::vector<Instance>& devices, std::uint64_t items,
                                                    Distribution distribution);

/// Busy seconds per item of a single instance: they work in parallel.
[[nodiscard]] double mean_time(const std::vector<Instance>& instances);

/// All instances of one kind.
struct Resource {
    const ResourceKind* kind = nullptr;
    std::vector<Instance> instances{};
    double capacity = 0;

    /// The stage that its instances spend most of their time on.
    [[nodiscard]] Stage main_stage() const;
};

/// Resources with a known capacity, in ascending order.
[[nodiscard]] std::vector<Resource> resources_of(const RunReport& run);

}  // namespace sluice
