#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// What one stage takes for a chunk of n items: fixed + an_item * n, in seconds.
struct StageCost {
    double fixed = 0;
    double an_item = 0;

    [[nodiscard]] double of(double items) const noexcept { return fixed + an_item * items; }
    friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// A stage's measured time for one number of items.
struct CostSample {
    std::uint32_t items;
    double seconds;
};

/// The line through the samples whose relative errors have the least squares; neither of its numbers is negative. At
/// least one sample, all of positive size; times are finite and not negative.
[[nodiscard]] StageCost fit_cost(std::span<const CostSample> samples);

/// What a device takes for a chunk of one app in one precision.
struct CostModel {
    StageCost upload;
    StageCost compute;
    StageCost download;
    /// Compute comes in waves of blocks: multiples of this many items leave no wave part-filled.
    std::uint32_t whole_items = 1;
    std::uint32_t largest_measured = 1;  ///< Items: far beyond them the lines are a guess.
    bool is_complete = true;  ///< Larger chunks would have told nothing more; false: there was no time for them.
    friend bool operator==(const CostModel&, const CostModel&) = default;
};

/// Of the sampled numbers of items, the one that computes most items a second.
[[nodiscard]] std::uint32_t best_rate(std::span<const CostSample> samples);

/// Seconds from the first upload to the last download of a job of `items` items, 1 at least, in chunks of
/// `chunk_items` on `devices` equal devices, each of which takes the next chunk when it is free. A chunk's stages
/// follow each other, and stages of different chunks overlap.
[[nodiscard]] double predict_seconds(const CostModel& costs, std::uint64_t items, std::uint32_t chunk_items,
                                     std::uint32_t devices);

/// What a chunk size is chosen for.
struct ChunkJob {
    std::uint64_t items = 0;
    std::uint32_t least_items = 1;  ///< In a chunk, as the app wants it.
    std::uint32_t most_items = 1;   ///< As app and memory allow; no less than least_items.
    /// Numbers of devices, over all ranks, for which it has to be good.
    std::span<const std::uint32_t> devices{};
};

struct ChunkChoice {
    std::uint32_t items;
    std::uint32_t depth;
    std::string reason;  ///< For the report.
};

/// Chunk size and depth of a job.
///
/// Each size has a predicted run on each of job.devices, and a loss there: how much longer that takes than with the
/// best size for so many devices. The size is the smallest whose worst loss is no more than half a percent above the
/// least: smaller chunks take less memory, are committed sooner, and predictions are no better than that. So large
/// chunks, which hide fixed costs, are weighed against small ones, which end together on all devices. It is a multiple
/// of whole_items, or the whole job; between the job's least and most items; at most four times the largest that was
/// measured; and computes for no more than two seconds, or five times the fixed part of its cost where that is longer,
/// unless the least one does, because a stop waits for the chunks in flight. It depends on the ranks only if `devices`
/// does.
///
/// The depth is 3 (one arrives, one computes, one leaves), and more where copies take longer than what hides them.
[[nodiscard]] ChunkChoice choose_chunk(const CostModel& costs, const ChunkJob& job);

}  // namespace sluice
