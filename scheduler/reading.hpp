#pragma once

#include <cstdint>

#include "core/chunk.hpp"
#include "core/modes.hpp"

namespace sluice {

/// Chunks that rank 0 buffers for all ranks.
struct QueueSizes {
    std::uint32_t staged = 1;  ///< Read, waiting to be granted.
    std::uint32_t window = 1;  ///< Results that arrived before an earlier chunk's.
};

/// `staged`: enough that every slot of every rank finds its next chunk read. `window`: enough that one slow device does
/// not stop the others for many rounds. Each within 256 MiB, at least 2 chunks, at most `chunks`. `slots`: over all
/// ranks.
[[nodiscard]] QueueSizes choose_queue_sizes(IoShape shape, std::uint32_t chunk_items, std::uint64_t slots,
                                            std::uint64_t chunks);

/// What determines the number of reader threads.
struct ReadingNeeds {
    std::uint32_t cores = 1;  ///< Available to rank 0.
    DeviceKind device = DeviceKind::host;
    std::uint32_t devices = 1;  ///< Over all ranks.
    double flop_per_item = 1;
    double file_bytes = 0;    ///< Per item, on average.
    double packed_bytes = 0;  ///< Per item.
};

/// Reader threads of rank 0: enough to supply items, in the slowest format, as fast as all devices can compute them.
///
/// At least 2, so that one works while another waits for the file system. With GPUs, which leave the cores idle, at
/// most one per core, and at least 4 per GPU as far as these are no more than half of the cores, because an app's
/// tokenizer may be far slower than any format and its items smaller than `flop_per_item` says. With host devices,
/// which need the cores, at most one per two cores, at least 1.
///
/// `device` is host or cuda; `flop_per_item` is positive and finite, the bytes are finite and not negative.
[[nodiscard]] std::uint32_t choose_readers(const ReadingNeeds& needs);

}  // namespace sluice
