#pragma once

#include <cstdint>

#include "core/chunk.hpp"
#include "core/modes.hpp"

namespace sluice {

/// How many chunks rank 0 holds for all.
struct QueueSizes {
    std::uint32_t staged = 1;  ///< Read and waiting to be handed out.
    std::uint32_t window = 1;  ///< Results that came before an earlier chunk's.
};

/// Enough that every slot of every rank finds its next chunk read (`staged`), and that one slow device does not stop
/// the others for many rounds (`window`), within 256 MiB each; at least 2 chunks, at most `chunks`. `slots`: of all
/// ranks.
[[nodiscard]] QueueSizes choose_queue_sizes(IoShape shape, std::uint32_t chunk_items, std::uint64_t slots,
                                            std::uint64_t chunks);

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
