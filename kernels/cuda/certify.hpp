#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace sluice {

/// What one chunk's certification goes through, in device memory. Zero at first.
struct CertifyState {
    std::uint32_t chosen;      ///< Items of this chunk that are uncertain.
    std::uint32_t done;        ///< Of those, computed again.
    std::uint32_t more;        ///< Whether some are not.
    std::uint32_t active;      ///< How many of the batch that the exact model gets are no padding.
    unsigned long long total;  ///< Computed again in all chunks.
};

/// Device memory; not owned.
struct CertifyMemory {
    const float* margin;            ///< (classes) offsets, then bound and usual (kernels/margin.hpp)
    const std::byte* in;            ///< (items, input_bytes)
    const std::int32_t* guesses;    ///< (items) results of int32 label and `classes` fp32
    std::int32_t* out;              ///< (items) the same, without scores unless `scores`
    std::uint32_t* chosen;          ///< (items) numbers of the uncertain ones, ascending
    CertifyState* state;            ///<
    std::byte* batch_in;            ///< (batch, input_bytes)
    const std::int32_t* batch_out;  ///< (batch) results with scores
    const std::uint32_t* active;    ///< How many items are no padding; null: all
};

struct CertifySizes {
    std::uint32_t items;
    std::uint32_t batch;
    std::uint32_t input_bytes;
    std::uint32_t classes;
    bool scores;
};

// The three steps: a loop's body is gather, the exact model, merge. CertifyState::more says whether it runs (again).

/// Writes the result of every item, and which are uncertain.
void enqueue_choose(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream);

/// Copies the inputs of the next `batch` uncertain items together; zeros where there are fewer.
void enqueue_gather(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream);

/// Copies their results to where they belong.
void enqueue_merge(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream);

}  // namespace sluice
