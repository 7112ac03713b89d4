#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/values.cuh"
#include "kernels/cuda/primitives/wgmma_wide.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

/// The kernel of rungs 13 to 17, which are settings of it (Roles), each with one more than the one before: tiles of
/// 128 x 256, two consumer warpgroups, one producer, a ring of stages of depth 64.
namespace sluice::ladder::hopper {

struct Roles {
    static constexpr bool persistent = false;  ///< One block per multiprocessor computes many tiles, in groups.
    static constexpr bool parity = false;      ///< One thread of a warpgroup arrives; the others wait for a parity.
    static constexpr bool multicast = false;   ///< Two blocks share their reads of b.
    static constexpr bool stores = false;      ///< The copy engine stores while the next tile is multiplied.
};

constexpr std::uint32_t tile_rows = 128;
constexpr std::uint32_t tile_columns = 256;
constexpr std::uint32_t depth = 64;
constexpr std::uint32_t row_bytes = depth * 2;
constexpr std::uint32_t warpgroup = 128;
constexpr std::uint32_t consumers = 2;
constexpr std::uint32_t threads = (consumers + 1) * warpgroup;
constexpr std::uint32_t product_rows = 64;
constexpr std::uint32_t stages = 4;
constexpr std::uint32_t a_bytes = tile_rows * row_bytes;
constexpr std::uint32_t b_bytes = tile_columns * row_bytes;
constexpr std::uint32_t boxes = 2;  // of 16 rows x 64 columns, per storing warp
constexpr std::uint32_t box_bytes = 16 * row_bytes;
constexpr std::uint32_t pattern_bytes = 1024;
constexpr std::uint32_t boxes_at = stages * (a_bytes + b_bytes);
constexpr std::uint32_t barriers_at = boxes_at + consumers * 4 * boxes * box_bytes;
constexpr std::uint32_t shared_bytes = barriers_at + 2 * stages * 8 + pattern_bytes;
constexpr std::uint32_t group_rows = 16;  // of tiles

/// Arrives and waits for the phase of this arrival, as cuda::barrier does.
__device__ __forceinline__ void arrive_and_wait(std::uint32_t barrier) {
    asm volatile(
        "{\n"
        ".reg .b64 phase;\n"
        ".reg .pred done;\n"
        "mbarrier.arrive.shared::cta.b64 phase, [%0];\n"
        "again:\n"
        "mbarrier.try_wait.shared::cta.b64 done, [%0], phase;\n"
        "@!done bra again;\n"
        "}" ::"r"(barrier)
        : "memory");
}

template <class Steps>
class Shared {
public:
    __device__ __forceinline__ Shared(void* memory)
        : base_((ptx::shared_address(memory) + pattern_bytes - 1) / pattern_bytes * pattern_bytes) {}

    __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const {
        return base_ + stage * (a_bytes + b_bytes);
    }
    __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + a_bytes; }
    __device__ __forceinline__ std::uint32_t box(std::uint32_t warp, std::uint32_t box) const {
        return base_ + boxes_at + (warp * boxes + box) * box_bytes;
    }
    __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base_ + barriers_at + stage * 8; }
    __device__ __forceinline__ std::uint32_t free(std::uint32_t stage) const { return full(stages + stage); }

    __device__ __forceinline__ void init_barriers() const {
        for (std::uint32_t i = 0; i < stages; ++i) {
            ptx::barrier_init(full(i), Steps::parity ? 1 : consumers * warpgroup + 1);
            ptx::barrier_init(free(i),
                              Steps::parity ? consumers * (Steps::multicast ? 2 : 1) : consumers * warpgroup + 1);
        }
        ptx::fence_barrier_init();
    }

private:
    std::uint32_t base_;
};

/// First row and column of tile `number`; if persistent, tiles are ordered by column within groups of `group_rows` rows
/// of tiles.
template <class Steps>
__device__ __forceinline__ uint2 tile_at(std::uint32_t number, const Size& size) {
    const std::uint32_t rows = size.m / tile_rows;
    const std::uint32_t columns = size.n / tile_columns;
    if constexpr (!Steps::persistent) {
        return {number / columns * tile_rows, number % columns * tile_columns};
    }
    const std::uint32_t group = number / (group_rows * columns);
    const std::uint32_t inside = number % (group_rows * columns);
    const std::uint32_t height = min(group_rows, rows - group * group_rows);
    return {(group * group_rows + inside % height) * tile_rows, inside / height * tile_columns};
}

template <class Steps>
__device__ __forceinline__ void produce(const Size& size, const Shared<Steps>& shared, const CUtensorMap* a_map,
                                        const CUtensorMap* b_map) {
    const std::uint32_t tiles = size.m / tile_rows * (size.n / tile_columns);
    const std::uint32_t rank = Steps::multicast ? ptx::rank_in_cluster() : 0;
    ptx::Ring<stages> place;
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint2 at = tile_at<Steps>(tile, size);
        for (std::uint32_t k = 0; k < size.k; k += depth, place.next()) {
            const std::uint32_t full = shared.full(place.stage);
            if constexpr (Steps::parity) {
                ptx::wait(shared.free(place.stage), place.parity ^ 1);
            } else {
                arrive_and_wait(shared.free(place.stage));
            }
            ptx::arrive_expecting(full, a_bytes + b_bytes);
            const int x = static_cast<int>(k);
            ptx::load_2d(shared.a(place.stage), a_map, full, x, static_cast<int>(at.x));
            if constexpr (Steps::multicast) {
                constexpr std::uint32_t half = tile_columns / 2;
                ptx::load_2d_to_many(shared.b(place.stage) + rank * half * row_bytes, b_map, full, x,
                                     static_cast<int>(at.y + rank * half), 3);
            } else {
                ptx::load_2d(shared.b(place.stage), b_map, full, x, static_cast<int>(at.y));
            }
        }
    }
}

template <class Steps>
__device__ __forceinline__ void free_stage(std::uint32_t barrier) {
    const std::uint32_t thread = threadIdx.x % warpgroup;
    if constexpr (!Steps::parity) {
        ptx::arrive(barrier);
    } else if constexpr (Steps::multicast) {
        if (thread < 2) {
            ptx::arrive_at(barrier, thread);
        }
    } else if (thread == 0) {
        ptx::arrive(barrier);
    }
}

/// Each thread stores its own pairs of elements.
__device__ __forceinline__ void store_pairs(const float (&sums)[tile_columns / 2], __nv_bfloat16* out, const Size& size,
                                            std::uint32_t row, std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t upper = 0; upper < 2; ++upper) {
        __nv_bfloat16* const to = out + std::size_t{row + lane / 4 + 8 * upper} * size.n + column + lane % 4 * 2;
#pragma unroll
        for (std::uint32_t j = 0; j < tile_columns / 8; ++j) {
            *reinterpret_cast<std::uint32_t*>(to + 8 * j) =
                values::pack<__nv_bfloat16>(sums[4 * j + 2 * upper], sums[4 * j + 2 * upper + 1]);
        }
    }
}

/// Stores boxes of 16 rows x 64 columns through shared memory by the copy engine.
template <class Steps>
__device__ __forceinline__ void store_boxes(const float (&sums)[tile_columns / 2], const Shared<Steps>& shared,
                                            const CUtensorMap* out_map, std::uint32_t row, std::uint32_t column,
                                            std::uint32_t warp) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t chunk = 0; chunk < tile_columns / 64; ++chunk) {
        const std::uint32_t box = shared.box(warp, chunk % boxes);
        ptx::wait_for_store_reads<boxes - 1>();
        __syncwarp();
#pragma unroll
        for (std::uint32_t j = 0; j < 8; j += 2) {
            const float* const from = sums + chunk * 32 + 4 * j;
            ptx::store_matrices(
                box + lane % 16 * row_bytes + ((j + lane / 16) ^ lane % 8) * 16,
                values::pack<__nv_bfloat16>(from[0], from[1]), values::pack<__nv_bfloat16>(from[2], from[3]),
                values::pack<__nv_bfloat16>(from[4], from[5]), values::pack<__nv_bfloat16>(from[6], from[7]));
        }
        ptx::fence_copy_engine();
        __syncwarp();
        if (lane == 0) {
            ptx::store_2d(out_map, box, static_cast<int>(column + chunk * 64), static_cast<int>(row));
            ptx::commit_stores();
        }
    }
}

template <class Steps>
__device__ __forceinline__ void consume(const Size& size, const Shared<Steps>& shared, const CUtensorMap* out_map,
                                        __nv_bfloat16* out, std::uint32_t consumer) {
    const std::uint32_t tiles = size.m / tile_rows * (size.n / tile_columns);
    const std::uint32_t warp = threadIdx.x % warpgroup / 32;
    if constexpr (!Steps::parity) {
        for (std::uint32_t i = 0; i < stages; ++i) {
            ptx::arrive(shared.free(i));  // all are free
        }
    }
    ptx::Ring<stages> place;
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint2 at = tile_at<Steps>(tile, size);
        float sums[tile_columns / 2] = {};
        std::uint32_t used = stages;  // none yet
        for (std::uint32_t k = 0; k < size.k; k += depth, place.next()) {
            if constexpr (Steps::parity) {
                ptx::wait(shared.full(place.stage), place.parity);
            } else {
                arrive_and_wait(shared.full(place.stage));
            }
            const std::uint64_t a = wgmma::matrix(shared.a(place.stage) + consumer * product_rows * row_bytes);
            const std::uint64_t b = wgmma::matrix(shared.b(place.stage));
            wgmma::fence();
#pragma unroll
            for (std::uint32_t i = 0; i < row_bytes; i += 32) {
                wgmma::multiply<__nv_bfloat16, tile_columns>(sums, a + wgmma::advance(i), b + wgmma::advance(i));
            }
            wgmma::commit();
            wgmma::wait<1>();
            if (used != stages) {
                free_stage<Steps>(shared.free(used));
            }
            used = place.stage;
        }
        wgmma::wait<0>();
        free_stage<Steps>(shared.free(used));
        const std::uint32_t row = at.x + consumer * product_rows + warp * 16;
        if constexpr (Steps::stores) {
            store_boxes<Steps>(sums, shared, out_map, row, at.y, consumer * 4 + warp);
        } else {
            store_pairs(sums, out, size, row, at.y);
        }
        if (tile + gridDim.x >= tiles) {
            if constexpr (Steps::stores) {
                ptx::wait_for_stores();
            }
            if constexpr (Steps::multicast) {
                ptx::synchronize_cluster_apart();  // no block may arrive at the barriers of an exited one
            }
        }
    }
}

template <class Steps>
__global__ void __launch_bounds__(threads, 1) __cluster_dims__(Steps::multicast ? 2 : 1, 1, 1)
    multiply_by_roles(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                      const __grid_constant__ CUtensorMap out_map, Size size, __nv_bfloat16* out) {
    extern __shared__ uint4 memory[];
    const Shared<Steps> shared(memory);
    if (threadIdx.x == 0) {
        shared.init_barriers();
    }
    if constexpr (Steps::multicast) {
        ptx::synchronize_cluster();
    } else {
        __syncthreads();
    }
    const std::uint32_t role = __shfl_sync(~0U, threadIdx.x / warpgroup, 0);
    if (role == consumers) {
        ptx::give_registers<24>();
        if (threadIdx.x == consumers * warpgroup) {
            produce<Steps>(size, shared, &a_map, &b_map);
        }
    } else {
        ptx::take_registers<240>();
        consume<Steps>(size, shared, &out_map, out, role);
    }
}

inline CUtensorMap map_of(const void* matrix, std::uint32_t rows, std::uint32_t columns, std::uint32_t box_rows) {
    const TensorAxis axes[] = {{columns, 0, depth}, {rows, std::uint64_t{columns} * 2, box_rows}};
    return make_tensor_map(Precision::bf16, matrix, axes);
}

template <class Steps>
MadeProduct make(const Size& size, const Operands& operands) {
    constexpr std::uint32_t cluster = Steps::multicast ? 2 : 1;
    int device = 0;
    int processors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    check_cuda(
        cudaFuncSetAttribute(&multiply_by_roles<Steps>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
    const CUtensorMap a = map_of(operands.a, size.m, size.k, tile_rows);
    const CUtensorMap b = map_of(operands.b, size.n, size.k, tile_columns / cluster);
    const CUtensorMap out = map_of(operands.out, size.m, size.n, 16);
    const std::uint32_t tiles = size.m / tile_rows * (size.n / tile_columns);
    const std::uint32_t most = static_cast<std::uint32_t>(processors) / cluster * cluster;
    const LaunchShape shape{
        .blocks = Steps::persistent ? std::min(tiles, most) : tiles, .threads = threads, .shared_bytes = shared_bytes};
    return {[=](cudaStream_t stream) {
        launch(&multiply_by_roles<Steps>, "ladder", shape, stream, a, b, out, size,
               static_cast<__nv_bfloat16*>(operands.out));
    }};
}

}  // namespace sluice::ladder::hopper
