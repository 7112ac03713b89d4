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
    friend bool operator==(const CostModel&, const CostModel&) = default;
};

/// Of the sampled numbers of items, the one that computes most items a second.
[[nodiscard]] std::uint32_t best_rate(std::span<const CostSample> samples);

struct ChunkChoice {
    std::uint32_t items;
    std::uint32_t depth;
    std::string reason;  ///< For the report.
};

/// Chunk size and depth of a job of `items` items, on any number of such devices.
///
/// The size is a multiple of whole_items, the smallest in which the fixed cost of the stage that binds is no more than
/// a fortieth of the chunk's; but at most a sixteenth of the job, so that filling and emptying the pipeline costs
/// little, and at most `most_items`, which is what memory allows. A job of fewer than 16 such multiples has chunks of
/// one of them, so that no wave is wasted; one of fewer items is a chunk. It depends on the job and the device's model,
/// never on the number of ranks.
///
/// The depth is 3 (one arrives, one computes, one leaves), and more where copies take longer than what hides them.
[[nodiscard]] ChunkChoice choose_chunk(const CostModel& costs, std::uint64_t items, std::uint32_t most_items);

}  // namespace sluice
