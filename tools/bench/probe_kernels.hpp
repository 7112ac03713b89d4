#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::bench {

/// Enqueues `blocks` blocks that read all of `memory`, 16 bytes a thread at a time. Each has a multiprocessor for
/// itself: it asks for all shared memory that a block gets.
void enqueue_memory_read(std::span<const std::byte> memory, std::uint32_t blocks, cudaStream_t stream);

/// The rounds of a loop on the device, which are counted there.
struct Countdown {
    std::uint32_t left;
    std::uint32_t more;
};

void enqueue_begin_countdown(Countdown* countdown, std::uint32_t rounds, cudaStream_t stream);
void enqueue_count_down(Countdown* countdown, cudaStream_t stream);

/// Enqueues a kernel of `blocks` blocks that does nothing but wait for the one before it, where it is chained.
void enqueue_nothing(std::uint32_t blocks, bool chained, cudaStream_t stream);

}  // namespace sluice::bench
