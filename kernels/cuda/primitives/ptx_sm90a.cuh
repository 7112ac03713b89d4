#pragma once

#include <cuda.h>

#include <cstdint>

/// Instructions of sm_90a only. PTX ISA 8.0. Shared memory is addressed by 32 bits.
namespace sluice::ptx {

// --- Barriers in shared memory (mbarrier) ---

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the copy engine.
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

/// Returns when the barrier's phase with this parity is complete. Traps after some seconds if it never is, instead of
/// occupying the GPU for good.
__device__ __forceinline__ void wait(std::uint32_t barrier, std::uint32_t parity) {
    constexpr std::uint32_t most_tries = 1U << 26;
    std::uint32_t tries = 0;
    while (!try_wait(barrier, parity)) {
        if (++tries == most_tries) {
            asm volatile("trap;");
        }
    }
}

/// Waits for all 128 threads of a warpgroup. `number`: the warpgroup's among those that do so, at most 14.
__device__ __forceinline__ void synchronize_warpgroup(std::uint32_t number) {
    asm volatile("bar.sync %0, 128;" ::"r"(number + 1) : "memory");
}

/// The same; whether `is` holds in all of its threads.
__device__ __forceinline__ bool all_of_warpgroup(std::uint32_t number, bool is) {
    std::uint32_t all;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.u32 p, %2, 0;\n"
        "barrier.cta.red.and.pred.aligned p, %1, 128, p;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(all)
        : "r"(number + 1), "r"(static_cast<std::uint32_t>(is))
        : "memory");
    return all != 0;
}

/// A position in a ring of barriers, and the parity of its round.
template <std::uint32_t stages>
struct Ring {
    std::uint32_t stage = 0;
    std::uint32_t parity = 0;

    __device__ __forceinline__ void next() {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }

    __device__ __forceinline__ void skip(std::uint32_t count) {
        const std::uint32_t at = stage + count;
        parity ^= at / stages & 1;
        stage = at % stages;
    }
};

// --- The copy engine (TMA) ---

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Policy of loads whose data the L2 cache should keep.
__device__ __forceinline__ std::uint64_t keep_in_cache() {
    std::uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void load_2d(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y,
                                        std::uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, "
        "%4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
        : "memory");
}

/// Prefetches `bytes`, a multiple of 16, into the L2 cache.
__device__ __forceinline__ void prefetch(const void* from, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// --- Registers and shared memory ---

template <int registers>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Stores four 8x8 matrices of 16-bit values from registers to shared memory; lane l passes the address of row l % 8 of
/// matrix l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}

}  // namespace sluice::ptx
