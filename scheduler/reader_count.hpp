#pragma once

#include <cstdint>

#include "core/modes.hpp"

namespace sluice {

/// What decides how many threads read the input.
struct ReadingNeeds {
    std::uint32_t cores = 1;  ///< That rank 0 may use.
    DeviceKind device = DeviceKind::host;
    std::uint32_t devices = 1;  ///< Of all ranks.
    double flop_per_item = 1;
    double file_bytes = 0;    ///< Of one item, on average.
    double packed_bytes = 0;  ///< Of one item.
};

/// Reader threads of rank 0: as many as bring items, in the slowest format, as fast as all devices could compute them.
/// At least 2, so that one works while another one waits for the file system. At most one a core beside GPUs, which
/// leave the cores idle, and one on every second core beside host devices, which need them; at least 1.
///
/// `device` is host or cuda; `flop_per_item` is positive and finite, the bytes are finite and not negative.
[[nodiscard]] std::uint32_t choose_readers(const ReadingNeeds& needs);

}  // namespace sluice
