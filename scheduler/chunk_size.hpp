#pragma once

#include <cstdint>

#include "core/modes.hpp"

namespace sluice {

/// Items of a chunk when the job says "auto": a power of two, at least 1. It depends on the job only, never on the
/// number of ranks or on measured time, because another chunk size may move a score in its last digit: the same job,
/// the same bytes.
///
/// The smallest of three:
/// - what one chunk should cost: about 16 GFLOP on a host, a tenth to a half second of a core, so that a device's last
///   chunk costs little; 2 TFLOP on a GPU, some milliseconds, where launches and the last, part-filled wave of blocks
///   of every kernel hardly count any more (docs/performance.md);
/// - items / 64, so that many devices share even a small job, and the last round is a small part of the run;
/// - 4096 items on a host and 16384 on a GPU, so that models with little work an item keep messages and buffers small.
///
/// But no fewer than `least`, below which the app's models waste most of their time, as far as that leaves four chunks.
///
/// `device` is host or cuda; `flop_per_item` is positive and finite.
[[nodiscard]] std::uint32_t choose_chunk_items(std::uint64_t items, double flop_per_item, DeviceKind device,
                                               std::uint32_t least = 1);

/// Chunks in flight per device when the job says "auto": 3 (one arrives, one computes, one leaves), or 1 in serial
/// mode.
[[nodiscard]] std::uint32_t choose_depth(PipelineMode mode);

enum class DepthBy : std::uint8_t { program, job, serial_mode };

/// `depth`, which somebody chose without regard to the model, for models that hold `lag` chunks back: the program's
/// choice grows by them, and serial mode finishes each chunk by itself. Throws Error (configuration) when the job names
/// no more than `lag`.
[[nodiscard]] std::uint32_t depth_with_lag(std::uint32_t depth, DepthBy chosen_by, std::uint32_t lag);

}  // namespace sluice
