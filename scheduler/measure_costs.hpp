#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device.hpp"
#include "core/model.hpp"
#include "scheduler/cost_model.hpp"

namespace sluice {

/// Times every stage of `model` on `device` at several chunk sizes up to `most_items`, for which it was made, some
/// tenths of a second in all. `sample` holds at least one of the job's items; they are used over and over. Nothing else
/// runs on the device meanwhile.
[[nodiscard]] CostModel measure_costs(Device& device, Model& model, std::span<const std::byte> sample,
                                      std::uint32_t most_items);

}  // namespace sluice
