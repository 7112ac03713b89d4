#pragma once

#include <cuda.h>

#include <cstdint>

/// Instructions of sm_90a for blocks of a cluster, and for stores by the copy engine. PTX ISA 8.0.
namespace sluice::ptx {

// --- The cluster ---

__device__ __forceinline__ std::uint32_t rank_in_cluster() {
    std::uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/// Waits for all threads of the cluster; the threads of a warp arrive together.
__device__ __forceinline__ void synchronize_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The same for diverged threads.
__device__ __forceinline__ void synchronize_cluster_apart() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/// Arrives at the barrier at this shared-memory address in block `rank` of the cluster.
__device__ __forceinline__ void arrive_at(std::uint32_t barrier, std::uint32_t rank) {
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}

// --- The copy engine ---

/// Copies to the same address in every block whose bit is in `ranks`; completes on the barrier at the same address
/// there.
__device__ __forceinline__ void load_2d_to_many(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x,
                                                int y, std::uint16_t ranks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(ranks)
        : "memory");
}

__device__ __forceinline__ void load_2d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            to),
        "l"(map), "r"(barrier), "r"(x), "r"(y)
        : "memory");
}

/// The same for tensors of three axes.
__device__ __forceinline__ void load_3d_to_many(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x,
                                                int y, int z, std::uint16_t ranks) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%3, %4, %5}], [%2], %6;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(ranks)
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

/// Elements beyond the tensor are not written.
__device__ __forceinline__ void store_2d(const CUtensorMap* map, std::uint32_t from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
                 "r"(x), "r"(y)
                 : "memory");
}

/// Ends a group of this thread's stores.
__device__ __forceinline__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most `pending` of this thread's groups have yet to read shared memory.
template <int pending>
__device__ __forceinline__ void wait_for_store_reads() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/// Waits until all of this thread's stores are done.
__device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Orders this thread's accesses to shared memory before later ones by the copy engine and wgmma.
__device__ __forceinline__ void fence_copy_engine() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- Global memory ---

/// A load that the compiler does not move, so that it is in flight while the tensor cores work.
__device__ __forceinline__ float2 load_global_8(const float* from) {
    float2 v;
    asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
    return v;
}

}  // namespace sluice::ptx
