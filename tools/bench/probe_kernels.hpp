#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::bench {

/// Enqueues `blocks` blocks that read all of `memory`, 16 bytes per thread at a time. Each occupies a whole
/// multiprocessor, by requesting a block's maximum of shared memory.
void enqueue_memory_read(std::span<const std::byte> memory, std::uint32_t blocks, cudaStream_t stream);

/// Counter of a loop's rounds, on the device.
struct Countdown {
    std::uint32_t left;
    std::uint32_t more;
};

void enqueue_begin_countdown(Countdown* countdown, std::uint32_t rounds, cudaStream_t stream);
void enqueue_count_down(Countdown* countdown, cudaStream_t stream);

/// Enqueues an empty kernel of `blocks` blocks, which waits for the one before it if chained.
void enqueue_nothing(std::uint32_t blocks, bool chained, cudaStream_t stream);

}  // namespace sluice::bench
