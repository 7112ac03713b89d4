#pragma once

#include <cstdint>

#include "core/chunk.hpp"

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

}  // namespace sluice
