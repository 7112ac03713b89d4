#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t rotation_threads = 256;
constexpr std::uint32_t most_rotation_blocks = 8 * hopper_multiprocessors;

template <class T>
constexpr std::uint32_t turned_together = 8;
template <>
constexpr std::uint32_t turned_together<float> = 1;

__device__ __forceinline__ void load_turned(const float* from, float (&to)[1]) {
    to[0] = from[0];
}
__device__ __forceinline__ void store_turned(float* to, const float (&from)[1]) {
    to[0] = from[0];
}
template <class T>
__device__ __forceinline__ void load_turned(const T* from, float (&to)[8]) {
    load_8(from, to);
}
template <class T>
__device__ __forceinline__ void store_turned(T* to, const float (&from)[8]) {
    store_8(to, from);
}

/// One thread for a value of a head's first half, or some adjacent ones, and for those half a head further.
template <class T>
__global__ void __launch_bounds__(rotation_threads) turn_heads(Memory memory, Rotation rotation) {
    constexpr std::uint32_t together = turned_together<T>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t half = rotation.head_size / 2;
    const std::uint32_t head_pieces = half / together;
    const std::uint32_t row_pieces = rotation.heads * head_pieces;
    const std::uint32_t all = memory.batch->rows * row_pieces;
    for (std::uint32_t i = blockIdx.x * rotation_threads + threadIdx.x; i < all; i += gridDim.x * rotation_threads) {
        const std::uint32_t row = i / row_pieces;
        const std::uint32_t of_row = i - row * row_pieces;
        const std::uint32_t head = of_row / head_pieces;
        const std::uint32_t at = (of_row - head * head_pieces) * together;
        T* const low =
            static_cast<T*>(rotation.rows) + std::size_t{row} * rotation.stride + head * rotation.head_size + at;
        const float* const angles = rotation.angles + std::size_t{memory.rows[row].position} * rotation.head_size + at;
        float x[together];
        float y[together];
        alignas(16) float cosines[together];
        alignas(16) float sines[together];
        load_turned(low, x);
        load_turned(low + half, y);
        load_turned(angles, cosines);
        load_turned(angles + half, sines);
#pragma unroll
        for (std::uint32_t j = 0; j < together; ++j) {
            const float turned = __fadd_rn(__fmul_rn(x[j], cosines[j]), -__fmul_rn(y[j], sines[j]));
            y[j] = __fadd_rn(__fmul_rn(y[j], cosines[j]), __fmul_rn(x[j], sines[j]));
            x[j] = turned;
        }
        store_turned(low, x);
        store_turned(low + half, y);
    }
}

void enqueue_rotation(const Memory& memory, Precision precision, const Rotation& rotation, cudaStream_t stream) {
    with_type_of(precision, [&](auto value) {
        using T = decltype(value);
        const std::uint64_t work =
            std::uint64_t{memory.most_rows} * rotation.heads * (rotation.head_size / 2 / turned_together<T>);
        launch(&turn_heads<T>, "rotary positions",
               {.blocks = blocks_for(work, rotation_threads, most_rotation_blocks),
                .threads = rotation_threads,
                .chained = true},
               stream, memory, rotation);
    });
}

}  // namespace sluice::decoder
