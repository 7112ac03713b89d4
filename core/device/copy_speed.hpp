#pragma once

#include <cstddef>

#include "core/device.hpp"

namespace sluice {

/// Between the host and a device, in bytes a second.
struct CopySpeed {
    double pinned_up = 0;
    double pinned_down = 0;
    double pageable_up = 0;
    double pageable_down = 0;
};

/// Copies `bytes`, more than 0, each way a few times, from the calling thread; the quickest counts. Throws Error
/// (out_of_memory), and what a copy fails with.
[[nodiscard]] CopySpeed measure_copies(Device& device, std::size_t bytes);

}  // namespace sluice
