#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/wgmma_wide.cuh"

/// The kernel of products by wgmma: the roles of a block's warpgroups, and the loop over tiles and their steps.
///
/// A `Loader` defines a step's operands and loads them into shared memory. Its static members are
///   Operands, Layout        its parameters, and the layout of shared memory
///   prepare()               initialises its barriers; one thread
///   waits                   whether produce() waits for the previous kernel, or all threads do
///   produce()               copies the operands of all steps of the block's tiles; the copying warpgroup
/// and those of an object that each consumer has
///   first_tile()            the number of the consumer's first tile
///   begin()                 before the steps of a tile, or some of them
///   wait()                  waits for the next step's matrices and returns them
///   next()                  once that step's products have begun and the previous step's are done
///   last_begun(), end()     once all have begun, and once all are done
///
/// An `Epilogue` stores sums. Its static members are
///   Target                  its parameters
///   prepare()               initialises its barriers; one thread
///   produce()               if it has one: what it needs for each of the block's tiles; the copying warpgroup
/// and those of an object that each consumer has
///   begin()                 sets the initial sums of a tile
///   store()                 takes all sums of a tile
///   finish()                after the last one
namespace sluice::gemm {

/// Begins a block: one thread calls `prepare` to initialise barriers; waits for the previous kernel, unless the loader
/// does.
template <class C, bool loader_waits = false, class Prepare>
__device__ __forceinline__ void begin_block(bool chained, const Prepare& prepare) {
    if (threadIdx.x == 0) {
        prepare();
        ptx::fence_barrier_init();
    }
    if constexpr (C::cluster == 1) {
        __syncthreads();
    } else {
        __syncwarp();
        ptx::synchronize_cluster();
    }
    if (chained) {
        ptx::let_next_kernel_start();
        if constexpr (!loader_waits) {
            ptx::wait_for_previous_kernel();
        }
    }
}

/// The last warpgroup calls `produce`, each of the others `consume` with its number and most of the registers.
template <class C, RoleRegisters registers = registers_to_copy, class Produce, class Consume>
__device__ __forceinline__ void take_roles(const Produce& produce, const Consume& consume) {
    constexpr std::uint32_t at_start = 65536 / C::threads / 8 * 8;  // registers of a thread
    constexpr std::uint32_t in_roles = registers.producer + C::consumers * registers.consumer;
    static_assert(!C::moves_registers || in_roles <= (C::consumers + 1) * at_start, "consumers would wait forever");
    const std::uint32_t warpgroup = __shfl_sync(~0U, threadIdx.x / warpgroup_threads, 0);
    if (warpgroup == C::consumers) {
        if constexpr (C::moves_registers) {
            ptx::give_registers<registers.producer>();
        }
        produce();
    } else {
        if constexpr (C::moves_registers) {
            ptx::take_registers<registers.consumer>();
        }
        consume(warpgroup);
    }
}

/// Adds the products of the loader's next steps; on return those of the last one are in flight.
template <class Type, class C, class Loader>
__device__ __forceinline__ void multiply_steps(Sums<C>& sums, Loader& loader, std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
        const Matrices<C> matrices = loader.wait();
        wgmma::fence();
#pragma unroll
        for (std::uint32_t k = 0; k < step_bytes; k += 32) {
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                wgmma::multiply<Type, C::product_columns>(sums[block], matrices.a[block] + wgmma::advance(k),
                                                          matrices.b + wgmma::advance(k));
            }
        }
        wgmma::commit();
        wgmma::wait<1>();  // the previous step is done
        loader.next();
    }
}

template <class Type, class C, class Loader, class Epilogue>
__device__ __forceinline__ void consume(const Arguments& arguments, Loader& loader, Epilogue& epilogue) {
    for (Tiles<C, C::turns> tiles(arguments, loader.first_tile()); tiles.any(); tiles.next()) {
        // Telling the first product not to read its sums would keep the previous tile's alive while they are stored:
        // twice as many registers.
        Sums<C> sums;
        epilogue.begin(sums, static_cast<std::uint32_t>(tiles.row()), static_cast<std::uint32_t>(tiles.column()));
        loader.begin();
        multiply_steps<Type, C>(sums, loader, arguments.steps);
        loader.last_begun();
        wgmma::wait<0>();
        loader.end();
        epilogue.store(sums);
        if (tiles.last()) {  // not after the loop: the compiler would give this role no more registers than the others
            epilogue.finish();
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
            }
        }
    }
}

template <class Type, class C, class Loader, class Epilogue>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply(const __grid_constant__ Arguments arguments, const __grid_constant__ typename Loader::Operands operands,
             const __grid_constant__ typename Epilogue::Target target) {
    extern __shared__ __align__(pattern_bytes) std::uint8_t shared[];
    const typename Loader::Layout layout(ptx::shared_address(shared));
    begin_block<C, Loader::waits>(arguments.chained, [&] {
        Loader::prepare(operands, layout);
        Epilogue::prepare(target, layout);
    });
    constexpr bool adds_up = requires {
        Epilogue::produce(arguments, layout);
    };
    take_roles<C, adds_up ? registers_to_add_up : registers_to_copy>(
        [&] {
            Loader::produce(arguments, operands, layout);
            if constexpr (adds_up) {
                Epilogue::produce(arguments, layout);
            }
        },
        [&](std::uint32_t consumer) {
            Loader loader(arguments, operands, layout, consumer);
            Epilogue epilogue(arguments, target, layout, consumer);
            consume<Type, C>(arguments, loader, epilogue);
        });
}

}  // namespace sluice::gemm
