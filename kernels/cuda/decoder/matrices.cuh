#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Instructions of the decoder's kernels only.
namespace sluice::decoder {

/// Loads four matrices of 8 rows of 16 bytes from shared memory, each transposed. Lane l passes the address of row l %
/// 8 of matrix l / 8 and receives of each the values 2 (l % 4) and 2 (l % 4) + 1 of column l / 4.
__device__ __forceinline__ void load_matrices_across(std::uint32_t (&to)[4], std::uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

__device__ __forceinline__ void store_shared_16(std::uint32_t address, const uint4& v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/// Makes what this thread has written to shared memory visible to wgmma and the copy engine. Of sm_90a only.
__device__ __forceinline__ void fence_shared_for_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace sluice::decoder
