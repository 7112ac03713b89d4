#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/generator/tensor_numbers.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

/// Epilogue of a step's kernel.
namespace sluice::generator {

enum class StepPart : std::uint8_t { first, further, scores };

/// r and z before their sigmoid; n before its tanh is in + r * own.
template <bool rough>
__device__ __forceinline__ float new_state(float r, float z, float in, float own, float before) {
    const float n = fast_tanh<rough>(fmaf(fast_sigmoid<rough>(r), own, in));
    return fmaf(fast_sigmoid<rough>(z), before - n, n);
}

/// Sums of products; in two parts, whose weights are scaled, multiplied by sum_scale.
template <class Numbers>
__device__ __forceinline__ float unscaled(float sum, const TensorArguments& arguments) {
    return Numbers::parts == 2 ? sum * arguments.sum_scale : sum;
}

__device__ __forceinline__ float get(const uint4& floats, std::uint32_t i) {
    return __uint_as_float(i == 0 ? floats.x : i == 1 ? floats.y : i == 2 ? floats.z : floats.w);
}

/// The gates of 64 rows by 64 units, by a warpgroup. A thread has two rows, eight apart, and of each two runs of eight
/// units, 32 apart: weights are packed so that its sums are of those (unit_of_column()). Other inputs of the gates are
/// requested while the tensor cores work.
template <class Numbers, StepPart part>
class UnitGates {
public:
    /// Rows from `row` on, units from `first_unit` on; `memory`: 1 KiB of shared memory of the warp.
    __device__ __forceinline__ UnitGates(const TensorArguments& arguments, std::uint32_t row, std::uint32_t first_unit,
                                         std::uint32_t memory)
        : arguments_(arguments), biases_(memory) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t first_row = row + threadIdx.x % gemm::warpgroup_threads / 32 * 16 + lane / 4;
        const std::uint32_t unit = first_unit + lane % 4 * run_units;
        at_ = std::size_t{first_row} * arguments.hidden + unit;
        if constexpr (part == StepPart::first) {
#pragma unroll
            for (std::uint32_t half = 0; half < 2; ++half) {
                table_at_[half] = std::size_t{arguments.symbols[first_row + 8 * half]} * arguments.table_stride + unit;
            }
        }
        copy_biases(first_unit, lane);
    }

    /// Requests the previous states, and the registers' part of the table.
    __device__ __forceinline__ void prefetch() {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t run = 0; run < runs; ++run) {
                before_[half][run].load(arguments_.before, at(half, run), arguments_.part_values);
            }
        }
        load_table(0, early_gates, 0);
        load_table(0, early_gates, 1);
    }

    /// `sums`: 32 per thread and gate: r, z, n of the state; `input_n`: n of the input, in layers from 1 on.
    template <std::uint32_t count, std::uint32_t input_count>
    __device__ __forceinline__ void store(const float (&sums)[count], const float (&input_n)[input_count]) {
        ptx::wait_for_copies<0>();
        __syncwarp();  // all lanes' copies of biases
#pragma unroll
        for (std::uint32_t run = 0; run < runs; ++run) {
            load_table(early_gates, gates, run);
            EightStates<Numbers> after[2];
#pragma unroll
            for (std::uint32_t four = 0; four < run_units / 4; ++four) {
                uint4 biases[bias_count];
#pragma unroll
                for (std::uint32_t i = 0; i < bias_count; ++i) {
                    biases[i] = ptx::load_shared_16(biases_ + i * bias_bytes + bias_place(run, four));
                }
#pragma unroll
                for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
                    for (std::uint32_t two = 2 * four; two < 2 * four + 2; ++two) {
                        const auto unit = [&](std::uint32_t i) {
                            return compute(sums, input_n, biases, half, run, 2 * two + i);
                        };
                        after[half].set(two, unit(0), unit(1));
                    }
                }
            }
#pragma unroll
            for (std::uint32_t half = 0; half < 2; ++half) {
                after[half].store(arguments_.after, at(half, run), arguments_.part_values);
            }
        }
    }

private:
    static constexpr std::uint32_t gates = part == StepPart::first ? 3 : 0;  // from the table
    static constexpr std::uint32_t early_gates = gates == 0 ? 0 : sizeof(typename Numbers::Table) == 2 ? 3 : 2;
    static constexpr std::uint32_t run_units = tensor_run_units;
    static constexpr std::uint32_t run_distance = tensor_lane_runs * run_units;
    static constexpr std::uint32_t runs = tensor_units / run_distance;
    // Layer 0's table includes all but the last, n of the state.
    static constexpr std::uint32_t bias_count = part == StepPart::first ? 1 : 4;
    static constexpr std::uint32_t bias_bytes = tensor_units * sizeof(float);
    static_assert(4 * bias_bytes <= gemm::box_bytes);

    __device__ __forceinline__ void copy_biases(std::uint32_t first_unit, std::uint32_t lane) const {
        constexpr std::uint32_t pieces = bias_bytes / 16;
        const float* const from = arguments_.bias + std::size_t{4 - bias_count} * arguments_.hidden + first_unit;
        __syncwarp();  // no lane reads the previous tile's
        for (std::uint32_t i = lane; i < bias_count * pieces; i += 32) {
            ptx::copy_16(biases_ + i * 16, from + std::size_t{i / pieces} * arguments_.hidden + i % pieces * 4, true);
        }
        ptx::commit_copies();
    }
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t bias_place(std::uint32_t run, std::uint32_t four) {
        return (run * run_distance + threadIdx.x % 4 * run_units + four * 4) *
               static_cast<std::uint32_t>(sizeof(float));
    }

    __device__ __forceinline__ void load_table(std::uint32_t first, std::uint32_t end, std::uint32_t run) {
        if constexpr (gates != 0) {
#pragma unroll
            for (std::uint32_t gate = 0; gate < gates; ++gate) {
                if (gate >= first && gate < end) {
#pragma unroll
                    for (std::uint32_t half = 0; half < 2; ++half) {
                        table_[gate][half][run].load(
                            arguments_.table,
                            table_at_[half] + std::size_t{gate} * arguments_.hidden + run * run_distance);
                    }
                }
            }
        }
    }

    /// The new state of unit `i` of a run.
    template <std::uint32_t count, std::uint32_t input_count>
    __device__ __forceinline__ float compute(const float (&sums)[count], const float (&input_n)[input_count],
                                             const uint4 (&biases)[bias_count], std::uint32_t half, std::uint32_t run,
                                             std::uint32_t i) const {
        constexpr std::uint32_t z_at = tensor_units / 2;
        constexpr std::uint32_t n_at = 2 * z_at;
        const std::uint32_t at = 4 * (run * (run_units / 2) + i / 2) + 2 * half + i % 2;
        const float r = unscaled<Numbers>(sums[at], arguments_);
        const float z = unscaled<Numbers>(sums[z_at + at], arguments_);
        const float own = unscaled<Numbers>(sums[n_at + at], arguments_) + get(biases[bias_count - 1], i % 4);
        const float before = before_[half][run].get(i);
        if constexpr (part == StepPart::first) {
            return new_state<Numbers::rough>(r + table_[0][half][run].get(i), z + table_[1][half][run].get(i),
                                             table_[2][half][run].get(i), own, before);
        } else {
            return new_state<Numbers::rough>(r + get(biases[0], i % 4), z + get(biases[1], i % 4),
                                             unscaled<Numbers>(input_n[at], arguments_) + get(biases[2], i % 4), own,
                                             before);
        }
    }

    [[nodiscard]] __device__ __forceinline__ std::size_t at(std::uint32_t half, std::uint32_t run) const {
        return at_ + std::size_t{8 * half} * arguments_.hidden + run * run_distance;
    }

    const TensorArguments& arguments_;
    std::uint32_t biases_;
    std::size_t at_;
    std::size_t table_at_[2];
    EightStates<Numbers> before_[2][runs];
    Eight<typename Numbers::Table> table_[gates == 0 ? 1 : gates][2][runs];
};

/// Scores of 64 rows, by a warpgroup: a thread has two rows, eight apart, and groups of four adjacent columns
/// (score_of_column()). Their biases are requested while the tensor cores work.
template <class Numbers, std::uint32_t columns>
class TileScores {
public:
    __device__ __forceinline__ TileScores(const TensorArguments& arguments, std::uint32_t row,
                                          std::uint32_t first_column)
        : arguments_(arguments),
          row_(row + threadIdx.x % gemm::warpgroup_threads / 32 * 16 + threadIdx.x % 32 / 4),
          column_(first_column + threadIdx.x % 4 * 4) {}

    __device__ __forceinline__ void prefetch() {
#pragma unroll
        for (std::uint32_t i = 0; i < fours; ++i) {
            biases_[i] = load_16(arguments_.bias + column_ + i * 16);
        }
    }

    __device__ __forceinline__ void store(const float (&sums)[columns / 2]) const {
        constexpr std::uint32_t all = 256;
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            float* const to = arguments_.scores + std::size_t{row_ + 8 * half} * all + column_;
#pragma unroll
            for (std::uint32_t i = 0; i < fours; ++i) {
                const auto score = [&](std::uint32_t at) {
                    const float sum = sums[8 * i + at / 2 * 4 + 2 * half + at % 2];
                    return unscaled<Numbers>(sum, arguments_) + get(biases_[i], at);
                };
                *reinterpret_cast<float4*>(to + i * 16) = {score(0), score(1), score(2), score(3)};
            }
        }
    }

private:
    static constexpr std::uint32_t fours = columns / 16;

    const TensorArguments& arguments_;
    std::uint32_t row_;
    std::uint32_t column_;
    uint4 biases_[fours];
};

}  // namespace sluice::generator
