#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/text_counts.hpp"

namespace sluice {

/// Adds to a count in device memory, atomically; leaves the memory alone if there is nothing to add.
__device__ __forceinline__ void add_count(std::uint64_t& to, std::uint64_t count) {
    if (count != 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(count));
    }
}

__device__ __forceinline__ void add_counts(TextCounts& to, const TextCounts& counts) {
    add_count(to.texts, counts.texts);
    add_count(to.prompt_tokens, counts.prompt_tokens);
    add_count(to.new_tokens, counts.new_tokens);
    add_count(to.ended, counts.ended);
    add_count(to.cut, counts.cut);
    add_count(to.shared, counts.shared);
}

}  // namespace sluice
