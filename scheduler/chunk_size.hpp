#pragma once

#include <cstdint>

#include "core/modes.hpp"

namespace sluice {

/// Items per chunk for "auto" on a host: a power of two, at least 1. On GPUs choose_chunk() decides, by measured times.
/// Depends on the job only, never on the number of ranks: another chunk size may change a score's last digit, and the
/// same job must give the same bytes.
///
/// The smallest of:
/// - a chunk of about 16 GFLOP, 0.1 s to 0.5 s on one core, so that a device's last chunk costs little;
/// - items / 64, so that many devices share even a small job and the last round is a small part of the run;
/// - 4096 items, which keeps messages and buffers of cheap models small.
///
/// But at least `least`, below which the app's models waste most of their time, if that leaves four chunks.
///
/// `flop_per_item` is positive and finite.
[[nodiscard]] std::uint32_t choose_chunk_items(std::uint64_t items, double flop_per_item, std::uint32_t least = 1);

/// Chunks in flight per device for "auto": 3 (one arriving, one computing, one leaving), or 1 in serial mode.
[[nodiscard]] std::uint32_t choose_depth(PipelineMode mode);

enum class DepthBy : std::uint8_t { program, job, serial_mode };

/// Adapts `depth` to a model that holds `lag` chunks back: the program's choice grows by `lag`; serial mode, which
/// finishes each chunk on its own, is unaffected. Throws Error (configuration) if the job's depth is at most `lag`.
[[nodiscard]] std::uint32_t depth_with_lag(std::uint32_t depth, DepthBy chosen_by, std::uint32_t lag);

}  // namespace sluice
