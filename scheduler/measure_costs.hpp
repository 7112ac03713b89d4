#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device.hpp"
#include "core/function_ref.hpp"
#include "core/model.hpp"
#include "scheduler/cost_model.hpp"

namespace sluice {

/// Times of one chunk, in seconds.
struct StageTimes {
    double upload = 0;
    double compute = 0;
    double download = 0;
    double elapsed = 0;  ///< Wall time of the whole measurement.
};

struct MeasuringOptions {
    ChunkLimits limits{};
    std::uint32_t most_items = 1;  ///< Upper bound of a chunk's size.
    double budget = 2;             ///< Seconds.
    std::uint64_t job_items = 0;   ///< Items of the job; 0: unknown.
};

/// Times chunks of a few sizes with `time_chunk` and fits the cost of each stage.
///
/// Sizes grow from the app's least, so that the time of the next one can be predicted; measurement ends at the first
/// that would exceed the budget. Exempt from the budget are the least size and, while throughput rises with the size, a
/// larger one that takes at most 1/50 of the job by that trend, and at most 1/16 if throughput stops rising: a
/// generator of long texts may take a second for a chunk of any size. If affordable, and unless the app names a
/// multiple, sizes from 64 to 512 items are searched for the one without a partial wave of blocks. From there on sizes
/// double until the line predicts the next one and its fixed part hardly matters.
[[nodiscard]] CostModel measure_costs(FunctionRef<StageTimes(std::uint32_t items)> time_chunk,
                                      const MeasuringOptions& options);

/// The same for `model`, created for options.most_items, on `device`, which must be otherwise idle. `sample` holds at
/// least one of the job's items and is repeated as needed.
[[nodiscard]] CostModel measure_costs(Device& device, Model& model, std::span<const std::byte> sample,
                                      const MeasuringOptions& options);

}  // namespace sluice
