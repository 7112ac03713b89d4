#pragma once

#include "core/chunk.hpp"

namespace sluice {

/// What this thread does for a chunk from the construction to the destruction, as a range of NVTX: domain "sluice", the
/// stage's name, the chunk's id as payload. Nsight Systems shows it beside the copies and kernels enqueued meanwhile.
/// Costs a branch while no profiler listens; does nothing in a build without CUDA. Ranges of a thread are nested.
class ProfilerRange {
public:
    ProfilerRange(Stage stage, const Chunk& chunk);
    ProfilerRange(const ProfilerRange&) = delete;
    ProfilerRange& operator=(const ProfilerRange&) = delete;
    ~ProfilerRange();  // NOLINT(performance-trivially-destructible): the one with CUDA is not
};

}  // namespace sluice
