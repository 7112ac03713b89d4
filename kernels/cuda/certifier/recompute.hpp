#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/operation.hpp"

namespace sluice {

class CudaStream;

/// Progress of a chunk's recomputation, in device memory. Initially zero.
struct RecomputeState {
    std::uint32_t chosen;      ///< Items of this chunk that are uncertain.
    std::uint32_t done;        ///< Of those, recomputed.
    std::uint32_t more;        ///< Whether any remain.
    std::uint32_t active;      ///< Items of the exact model's batch that are no padding.
    unsigned long long total;  ///< Recomputed in all chunks.
};

struct RecomputeSizes {
    std::uint32_t items;         ///< Of the chunk.
    std::uint32_t batch;         ///< Items recomputed at a time.
    std::uint32_t input_bytes;   ///< Of an item.
    std::uint32_t exact_bytes;   ///< Of an exact result, a multiple of 4.
    std::uint32_t result_bytes;  ///< Leading bytes of it that are output, a multiple of 4.
};

/// Device memory; not owned.
struct RecomputeMemory {
    const std::byte* in;    ///< (items, input_bytes)
    std::byte* out;         ///< (items, result_bytes)
    std::uint32_t* chosen;  ///< (items) indices of the uncertain ones, ascending
    RecomputeState* state;
    std::byte* batch_in;          ///< (batch, input_bytes)
    const std::byte* batch_out;   ///< (batch, exact_bytes)
    const std::uint32_t* active;  ///< Number of active items; null: all
};

/// Recomputes the uncertain items of a chunk on the device, without a host round trip for their number. Used by one
/// driver.
class Recomputation {
public:
    /// sizes.items: the maximum of a chunk.
    Recomputation(Device& device, const RecomputeSizes& sizes);

    /// Enqueues a kernel that sets memory.chosen, state->chosen, done = 0 and more: see certify.hpp and
    /// certify_texts.hpp.
    using Choose = std::function<void(const RecomputeSizes&, const RecomputeMemory&, cudaStream_t)>;
    /// Enqueues the exact model on `in`, of which the first *active items are active.
    using Exact = std::function<void(Stream&, std::size_t batch, const std::uint32_t* active,
                                     std::span<const std::byte> in, std::span<std::byte> out)>;

    void enqueue(CudaStream& stream, const Batch& batch, std::span<const std::byte> in, std::span<std::byte> out,
                 const Choose& choose, const Exact& exact) const;

    /// Items recomputed. Call once the enqueued work is done.
    [[nodiscard]] std::uint64_t total() const;

private:
    RecomputeSizes sizes_;
    Buffer chosen_;
    Buffer state_;
    Buffer batch_in_;
    Buffer batch_out_;
};

// The loop's body is gather, the exact model, merge; it runs while RecomputeState::more.

/// Gathers the inputs of the next `batch` uncertain items; zeros if there are fewer.
void enqueue_gather(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream);

/// Copies their results to memory.out.
void enqueue_merge(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream);

}  // namespace sluice
