#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/device.hpp"
#include "core/event.hpp"
#include "core/trace/trace.hpp"
#include "core/transport.hpp"
#include "scheduler/short_chunks.hpp"

namespace sluice {

/// One chunk in flight: its four buffers and its events. A buffer is reused only once the slot is free, so a write
/// never overlaps an unfinished read.
struct Slot {
    std::span<std::byte> arrived;     ///< (chunk_items, input_bytes), pinned. The pipeline owns all four.
    std::span<std::byte> input;       ///< The same on the device.
    std::span<std::byte> output;      ///< (chunk_items, output_bytes) on the device.
    std::span<std::byte> downloaded;  ///< The same, pinned.

    std::unique_ptr<CapturedWork> full_chunk;  ///< The model's work on `input` and `output`, for a full chunk.
    ShortChunks short_chunks;                  ///< The same for short chunks.

    Ticket ticket;    ///< requested: ready when the chunk is known, of which fetch() makes the items lie in `arrived`.
    Chunk chunk;      ///< From admit on; count == 0: end of input.
    Event uploaded;   ///< in flight: for the trace, and to identify a failed stage.
    Event forwarded;  ///< in flight: after the chunk's own forward(), which may hold results back.
    Event computed;   ///< leaving: after the work that completed the outputs.
    Event done;       ///< leaving: ready when the outputs are in `downloaded`.
    Event upload_begun, compute_begun, download_begun;
    Event delivered;   ///< delivering: ready when `downloaded` may be overwritten.
    ChunkSpans spans;  ///< Filled along the way.
};

}  // namespace sluice
