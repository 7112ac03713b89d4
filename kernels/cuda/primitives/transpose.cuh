#pragma once

#include <cstdint>

namespace sluice {

/// In each group of four lanes, word i of lane t becomes word t of lane i. Called by all lanes of a warp; its own
/// inverse.
__device__ __forceinline__ void transpose_among_four(std::uint32_t (&words)[4]) {
    const std::uint32_t lane = threadIdx.x % 4;
#pragma unroll
    for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
        const bool upper = (lane & apart) != 0;
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            if ((i & apart) == 0) {
                const std::uint32_t sent = upper ? words[i] : words[i + apart];
                const std::uint32_t got = __shfl_xor_sync(~0U, sent, static_cast<int>(apart));
                words[i] = upper ? got : words[i];
                words[i + apart] = upper ? words[i + apart] : got;
            }
        }
    }
}

}  // namespace sluice
