#pragma once

#include <cuda.h>

#include <cstdint>

/// Hopper instructions that CUDA C++ has no names for. PTX ISA 8.0, sm_90a. Shared memory is addressed by 32 bits.
namespace sluice::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- Barriers in shared memory (mbarrier) ---

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the copy engine and to the cluster.
__device__ __forceinline__ void fence_barrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the barrier with the same address in block `rank` of the cluster.
__device__ __forceinline__ void arrive_remote(std::uint32_t barrier, std::uint32_t rank) {
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
        "}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}

__device__ __forceinline__ bool try_wait(std::uint32_t barrier, std::uint32_t parity) {
    std::uint32_t done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

__device__ __forceinline__ bool try_wait_cluster(std::uint32_t barrier, std::uint32_t parity) {
    std::uint32_t done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

/// Returns when the barrier's phase with this parity is complete. A barrier that never comes faults after some seconds
/// instead of occupying the GPU for good.
template <bool cluster = false>
__device__ __forceinline__ void wait(std::uint32_t barrier, std::uint32_t parity) {
    constexpr std::uint32_t most_tries = 1U << 26;
    std::uint32_t tries = 0;
    while (!(cluster ? try_wait_cluster(barrier, parity) : try_wait(barrier, parity))) {
        if (++tries == most_tries) {
            asm volatile("trap;");
        }
    }
}

// --- The copy engine (TMA) ---

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ void load_2d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            to),
        "l"(map), "r"(barrier), "r"(x), "r"(y)
        : "memory");
}

__device__ __forceinline__ void load_3d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y,
                                        int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
        "[%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
        : "memory");
}

/// The same bytes to the same address in every block of `blocks`, a mask of ranks; each block's barrier is told.
__device__ __forceinline__ void load_2d_multicast(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x,
                                                  int y, std::uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
        : "memory");
}

// --- Clusters ---

__device__ __forceinline__ std::uint32_t cluster_rank() {
    std::uint32_t rank;
    asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// --- Chains of kernels (programmatic dependent launch) ---

/// Until the kernels before this one in the stream have written their results.
__device__ __forceinline__ void wait_for_previous_kernel() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the next kernel of the stream take the places that this one's blocks leave.
__device__ __forceinline__ void let_next_kernel_start() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// --- Registers and named barriers ---

template <int registers>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

__device__ __forceinline__ void named_sync(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Four 8x8 matrices of 16-bit values from registers to shared memory; lane l gives the address of row l % 8 of matrix
/// l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}

__device__ __forceinline__ uint4 load_shared_16(std::uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

}  // namespace sluice::ptx
