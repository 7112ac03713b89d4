#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/operation.hpp"

namespace sluice {

class CudaStream;

/// Where a chunk's recomputation stands, in device memory. Zero at first.
struct RecomputeState {
    std::uint32_t chosen;      ///< Items of this chunk that are uncertain.
    std::uint32_t done;        ///< Of those, computed again.
    std::uint32_t more;        ///< Whether some are not.
    std::uint32_t active;      ///< How many of the batch that the exact model gets are no padding.
    unsigned long long total;  ///< Computed again in all chunks.
};

struct RecomputeSizes {
    std::uint32_t items;         ///< Of the chunk.
    std::uint32_t batch;         ///< Items that are computed again at a time.
    std::uint32_t input_bytes;   ///< Of an item.
    std::uint32_t exact_bytes;   ///< Of an exact result, a multiple of 4,
    std::uint32_t result_bytes;  ///< and how many of those leave: the first ones, a multiple of 4.
};

/// Device memory; not owned.
struct RecomputeMemory {
    const std::byte* in;          ///< (items, input_bytes)
    std::byte* out;               ///< (items, result_bytes)
    std::uint32_t* chosen;        ///< (items) numbers of the uncertain ones, ascending
    RecomputeState* state;        ///<
    std::byte* batch_in;          ///< (batch, input_bytes)
    const std::byte* batch_out;   ///< (batch, exact_bytes)
    const std::uint32_t* active;  ///< How many items are no padding; null: all
};

/// Computes the uncertain items of a chunk again. All of it happens on the device; the host does not wait to hear how
/// many those are. Used by one driver.
class Recomputation {
public:
    /// sizes.items: at most so many in a chunk.
    Recomputation(Device& device, const RecomputeSizes& sizes);

    /// Enqueues what fills memory.chosen, state->chosen, done = 0 and more: one of the choose kernels below.
    using Choose = std::function<void(const RecomputeSizes&, const RecomputeMemory&, cudaStream_t)>;
    /// Enqueues the exact model of `in`, of which *active items count.
    using Exact = std::function<void(Stream&, std::size_t batch, const std::uint32_t* active,
                                     std::span<const std::byte> in, std::span<std::byte> out)>;

    void enqueue(CudaStream& stream, const Batch& batch, std::span<const std::byte> in, std::span<std::byte> out,
                 const Choose& choose, const Exact& exact) const;

    /// In all that is done: wait for what was enqueued first.
    [[nodiscard]] std::uint64_t total() const;

private:
    RecomputeSizes sizes_;
    Buffer chosen_;
    Buffer state_;
    Buffer batch_in_;
    Buffer batch_out_;
};

// A loop's body is gather, the exact model, merge. RecomputeState::more says whether it runs (again).

/// Copies the inputs of the next `batch` uncertain items together; zeros where there are fewer.
void enqueue_gather(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream);

/// Copies their results to where they belong.
void enqueue_merge(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream);

}  // namespace sluice
