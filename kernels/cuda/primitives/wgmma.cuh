#pragma once

#include <cstdint>

/// Products by a warpgroup: four converged warps, the first of which has a number divisible by four.
namespace sluice::wgmma {

/// Descriptor of a matrix in shared memory with rows of 128 bytes, swizzled as the copy engine writes it: 16-byte piece
/// c of a row is at c ^ (address / 128 % 8). The address of its first row is a multiple of 128; the pattern's phase
/// comes from the address itself, so that a matrix may begin at any row.
__device__ __forceinline__ std::uint64_t matrix(std::uint32_t address) {
    constexpr std::uint64_t eight_rows = 1024 >> 4;
    constexpr std::uint64_t swizzle_128 = 1;
    return std::uint64_t{(address & 0x3ffffU) >> 4} | std::uint64_t{1} << 16 | eight_rows << 32 | swizzle_128 << 62;
}

/// Offset of a descriptor that begins `bytes` later.
__device__ __forceinline__ constexpr std::uint64_t advance(std::uint32_t bytes) {
    return bytes >> 4;
}

/// Required before the first product that uses registers accessed otherwise.
__device__ __forceinline__ void fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `pending` committed groups are unfinished.
template <int pending>
__device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

struct Tf32 {};

}  // namespace sluice::wgmma
