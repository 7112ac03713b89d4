#include "kernels/cuda/generator/gates.hpp"

#include <cstddef>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t gate_threads = 256;

__device__ __forceinline__ float4 four_at(const float* from) {
    return *reinterpret_cast<const float4*>(from);
}

/// The new state of a unit, as the host computes it: from input and state products of the gates r, z and n.
__device__ __forceinline__ float gru_unit(const float (&in)[3], const float (&own)[3], float h) {
    const float r = ordered::sigmoid_of(__fadd_rn(in[0], own[0]));
    const float z = ordered::sigmoid_of(__fadd_rn(in[1], own[1]));
    const float n = ordered::tanh_of(__fadd_rn(in[2], __fmul_rn(r, own[2])));
    return __fadd_rn(__fmul_rn(__fadd_rn(1.0F, -z), n), __fmul_rn(z, h));
}

/// Four units per thread.
__global__ void __launch_bounds__(gate_threads) compute_gates(Gates gates) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t fours = gates.hidden / 4;
    const std::uint64_t number = std::uint64_t{blockIdx.x} * gate_threads + threadIdx.x;
    const auto row = static_cast<std::uint32_t>(number / fours);
    if (row >= *gates.rows) {
        return;
    }
    const std::uint32_t unit = static_cast<std::uint32_t>(number % fours) * 4;
    const std::uint32_t in_row = gates.symbols == nullptr ? row : gates.symbols[row];
    const float* const in = gates.in + std::size_t{in_row} * gates.stride + unit;
    const float* const own = gates.own + std::size_t{row} * gates.stride + unit;
    float4 x[3];
    float4 y[3];
#pragma unroll
    for (std::uint32_t gate = 0; gate < 3; ++gate) {
        x[gate] = four_at(in + gate * gates.hidden);
        y[gate] = four_at(own + gate * gates.hidden);
    }
    const float4 h = four_at(gates.before + std::size_t{row} * gates.hidden + unit);
    float4 after;
    after.x = gru_unit({x[0].x, x[1].x, x[2].x}, {y[0].x, y[1].x, y[2].x}, h.x);
    after.y = gru_unit({x[0].y, x[1].y, x[2].y}, {y[0].y, y[1].y, y[2].y}, h.y);
    after.z = gru_unit({x[0].z, x[1].z, x[2].z}, {y[0].z, y[1].z, y[2].z}, h.z);
    after.w = gru_unit({x[0].w, x[1].w, x[2].w}, {y[0].w, y[1].w, y[2].w}, h.w);
    *reinterpret_cast<float4*>(gates.after + std::size_t{row} * gates.hidden + unit) = after;
}

void enqueue_gates(const Gates& gates, cudaStream_t stream) {
    const std::uint64_t threads = std::uint64_t{gates.most_rows} * (gates.hidden / 4);
    launch(&compute_gates, "gates",
           {.blocks = static_cast<std::uint32_t>((threads + gate_threads - 1) / gate_threads),
            .threads = gate_threads,
            .chained = true},
           stream, gates);
}

}  // namespace sluice::generator
