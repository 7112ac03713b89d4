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
#include "scheduler/rank_report.hpp"

namespace sluice {

/// Threads that make rows of results on rank 0.
struct EncoderThreads {
    std::uint32_t used = 1;
    std::uint32_t useful = 1;  ///< As many as it would use if it had a core for each.
};

/// A run, as far as it decides what binds it.
struct JudgedRun {
    std::span<const RankReport> ranks{};
    std::uint64_t items = 0;  ///< That it finished.
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    std::uint32_t staged = 2;  ///< As QueueSizes.
    std::uint32_t window = 2;
    EncoderThreads encoders{};
    DeviceKind device = DeviceKind::host;
    PipelineMode mode = PipelineMode::overlap;
    Distribution distribution = Distribution::pull;
};

/// Stages that one kind of thread or engine does, in turn.
struct ResourceKind {
    std::string_view name;
    std::array<std::optional<Stage>, 2> stages;
};
namespace resource_kinds {
inline constexpr ResourceKind readers{"readers", {Stage::read, Stage::parse}};
inline constexpr ResourceKind link{"link", {Stage::scatter}};
inline constexpr ResourceKind link_back{"link back", {Stage::gather}};
inline constexpr ResourceKind comm_thread{"comm thread", {Stage::scatter, Stage::gather}};
inline constexpr ResourceKind upload{"upload", {Stage::upload}};
inline constexpr ResourceKind compute{"compute", {Stage::compute}};
inline constexpr ResourceKind download{"download", {Stage::download}};
inline constexpr ResourceKind writer{"writer", {Stage::write, Stage::commit}};
}  // namespace resource_kinds

/// In a single process the comm thread copies all that goes out and comes in; messages go both ways at once.
[[nodiscard]] std::span<const ResourceKind* const> kinds_of_run(std::size_t ranks);

/// Done by a device, not by a thread of the host that serves several.
[[nodiscard]] bool is_of_devices(Stage stage);
[[nodiscard]] bool does(const ResourceKind& kind, Stage stage);

/// One thread, or one engine of a device.
struct Worker {
    int rank = 0;
    std::string name{};
    std::chrono::nanoseconds busy{0};
    std::array<std::chrono::nanoseconds, 2> of_stage{};
    std::uint64_t items = 0;
    std::optional<std::chrono::nanoseconds> delayed{};
    std::optional<SteadyStretch> steady{};  ///< As InstanceTotals.

    /// Busy seconds an item, of a device in its steady stretch; 0 or more.
    [[nodiscard]] double pace() const;
};

/// Those of all ranks, in the order of ranks and names.
[[nodiscard]] std::vector<Worker> workers_of(std::span<const RankReport> ranks, const ResourceKind& kind);

/// Items per second, as if none of them ever waited; of devices as in their steady stretch. Not all items may pass
/// here; the capacity is for all. With `is_fixed` the slowest decides. nullopt: nothing was done, or in no time at all,
/// so that it cannot bind.
[[nodiscard]] std::optional<double> capacity_of(const std::vector<Worker>& workers, std::uint64_t items, bool is_fixed);

/// Items per second, as devices completed them in their steady stretches. Of those that computed two chunks or more;
/// the others' items are taken to come in the same time. With `is_fixed` the slowest decides. nullopt: none did.
[[nodiscard]] std::optional<double> completion_rate(const std::vector<Worker>& devices, std::uint64_t items,
                                                    bool is_fixed);

/// Busy seconds an item, of one of `workers`: they serve side by side.
[[nodiscard]] double mean_time(const std::vector<Worker>& workers);

/// All workers of one kind.
struct Resource {
    const ResourceKind* kind = nullptr;
    std::vector<Worker> workers{};
    double capacity = 0;

    /// That they spend most of their time on.
    [[nodiscard]] Stage main_stage() const;
};

/// Those that have a capacity, the least first.
[[nodiscard]] std::vector<Resource> resources_of(const JudgedRun& run);

}  // namespace sluice
