#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device.hpp"
#include "core/function_ref.hpp"
#include "core/model.hpp"
#include "scheduler/cost_model.hpp"

namespace sluice {

/// What one chunk took, in seconds.
struct StageTimes {
    double upload = 0;
    double compute = 0;
    double download = 0;
    double elapsed = 0;  ///< For whoever timed it, from the beginning to the end.
};

struct MeasuringOptions {
    ChunkLimits limits{};
    std::uint32_t most_items = 1;  ///< That a chunk may have.
    double budget = 2;             ///< Seconds.
    std::uint64_t job_items = 0;   ///< That the costs are for; 0: not known.
};

/// Times chunks of a few sizes with `time_chunk`, which takes their number of items, and fits their stages' costs.
///
/// The sizes grow from the least that the app wants, so that what the next one will take is known before it is timed:
/// one that would break the budget is left out, and so are all after it. The least size is timed whatever it takes. So
/// is, while the rate rises with the size, a larger one that by that trend takes at most a hundredth of the job, and at
/// most a sixteenth if the rate stops rising there: a generator of long texts may take a second for a chunk of any
/// size. Where it is cheap, sizes from 64 to 512 items
/// are searched for the one that leaves no wave of blocks part-filled, unless the app names a multiple. From there on
/// sizes double until the line foretells the next one and its fixed part hardly counts.
[[nodiscard]] CostModel measure_costs(FunctionRef<StageTimes(std::uint32_t items)> time_chunk,
                                      const MeasuringOptions& options);

/// The same for `model`, made for options.most_items, on `device`. `sample` holds at least one of the job's items; they
/// are used over and over. Nothing else runs on the device meanwhile.
[[nodiscard]] CostModel measure_costs(Device& device, Model& model, std::span<const std::byte> sample,
                                      const MeasuringOptions& options);

}  // namespace sluice
