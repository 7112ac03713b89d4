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

/// One chunk in flight: its four pieces of memory and the event it waits for. A buffer is reused only when the Slot is
/// free again, so a write never meets an unfinished read.
struct Slot {
    std::span<std::byte> arrived;     ///< (chunk_items, input_bytes), pinned; the pipeline's, as all four are.
    std::span<std::byte> input;       ///< The same on the device.
    std::span<std::byte> output;      ///< (chunk_items, output_bytes) on the device.
    std::span<std::byte> downloaded;  ///< The same, pinned.

    std::unique_ptr<CapturedWork> full_chunk;  ///< The model's work on `input` and `output`, for a chunk without gaps.
    ShortChunks short_chunks;                  ///< The same for other chunks.

    Ticket ticket;   ///< requested: ready when the items are in `arrived`.
    Chunk chunk;     ///< From admit on; count == 0 for the end of the input.
    Event uploaded;  ///< in flight: for the trace, and to name the stage that failed.
    Event computed;  ///
    Event done;      ///< in flight: ready when the outputs are in `downloaded`.
    Event upload_begun, compute_begun, download_begun;
    Event delivered;   ///< delivering: ready when `downloaded` may be overwritten.
    ChunkSpans spans;  ///< Filled on the way.
};

}  // namespace sluice
