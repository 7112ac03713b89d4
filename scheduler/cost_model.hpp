#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// Time of one stage for a chunk of n items: fixed + per_item * n, in seconds.
struct StageCost {
    double fixed = 0;
    double per_item = 0;

    [[nodiscard]] double of(double items) const noexcept { return fixed + per_item * items; }
    friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// A stage's measured time for a chunk of `items`.
struct CostSample {
    std::uint32_t items;
    double seconds;
};

/// Least-squares line by relative error; both coefficients are nonnegative. Needs at least one sample, all of positive
/// size, with finite, nonnegative times.
[[nodiscard]] StageCost fit_cost(std::span<const CostSample> samples);

/// Chunk costs of one app and precision on one device.
struct CostModel {
    StageCost upload;
    StageCost compute;
    StageCost download;
    /// Multiples of this many items leave no partial wave of blocks.
    std::uint32_t whole_items = 1;
    std::uint32_t largest_measured = 1;  ///< Items; far beyond, the lines are extrapolations.
    bool is_complete = true;             ///< Larger chunks would add nothing; false: time ran out.
    friend bool operator==(const CostModel&, const CostModel&) = default;
};

/// The sampled number of items with the highest throughput.
[[nodiscard]] std::uint32_t best_rate(std::span<const CostSample> samples);

/// Seconds from the first upload to the last download of a job of `items` >= 1, in chunks of `chunk_items` on `devices`
/// equal devices, each of which takes the next chunk when free. A chunk's stages run in sequence; stages of different
/// chunks overlap.
[[nodiscard]] double predict_seconds(const CostModel& costs, std::uint64_t items, std::uint32_t chunk_items,
                                     std::uint32_t devices);

/// The job that a chunk size is chosen for.
struct ChunkJob {
    std::uint64_t items = 0;
    std::uint32_t least_items = 1;  ///< Per chunk, as the app wants.
    std::uint32_t most_items = 1;   ///< Per chunk, as app and memory allow; at least least_items.
    /// Numbers of devices, over all ranks, that the size has to suit.
    std::span<const std::uint32_t> devices{};
};

struct ChunkChoice {
    std::uint32_t items;
    std::uint32_t depth;
    std::string reason;  ///< For the report.
};

/// Chunk size and depth of a job.
///
/// For each number in job.devices, a size's loss is how much longer its predicted run takes than that of the best size.
/// Chosen is the smallest size whose worst loss is within half a percent of the least: small chunks need less memory
/// and are committed sooner, and predictions are no more accurate. This balances large chunks, which hide fixed costs,
/// against small ones, which end together on all devices. The size is a multiple of whole_items, or the whole job;
/// between least_items and most_items; at most four times the largest measured; and computes for at most two seconds,
/// because a stop waits for the chunks in flight, unless the least size does. Where ten times its fixed cost is more
/// than two seconds, it may be eight times the largest measured, and compute for that long, up to five seconds, or for
/// five times the fixed cost. It depends on the ranks only if `devices` does.
///
/// The depth is 3 (one arriving, one computing, one leaving), or more where copies take longer than what hides them.
[[nodiscard]] ChunkChoice choose_chunk(const CostModel& costs, const ChunkJob& job);

}  // namespace sluice
