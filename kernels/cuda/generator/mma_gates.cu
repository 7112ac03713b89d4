#include "kernels/cuda/generator/mma_gates.hpp"

#include "core/error.hpp"
#include "kernels/cuda/generator/tensor_epilogue.cuh"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/generator/tensor_numbers.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/sampling.hpp"

namespace sluice::generator {

constexpr std::uint32_t mma_gate_threads = 256;
constexpr std::uint32_t gate_runs = tensor_units / tensor_run_units;  // in a group of units
constexpr std::uint32_t pairs_per_run = tensor_run_units / 2;

/// In a group's columns of one gate: the column of the first of two adjacent units.
__host__ __device__ constexpr std::uint32_t column_of_pair(std::uint32_t run, std::uint32_t pair) {
    return (run / tensor_lane_runs * pairs_per_run + pair) * 8 + run % tensor_lane_runs * 2;
}

constexpr bool columns_are_those_of_units() {
    for (std::uint32_t unit = 0; unit < tensor_units; ++unit) {
        const std::uint32_t column = column_of_pair(unit / tensor_run_units, unit % tensor_run_units / 2) + unit % 2;
        if (unit_of_column(column) != unit) {
            return false;
        }
    }
    return true;
}
static_assert(columns_are_those_of_units());

/// The sums of the three gates of a run of eight units.
class RunSums {
public:
    __device__ __forceinline__ RunSums(const float* sums, const MmaGates& gates, std::uint32_t row, std::uint32_t run) {
        const float* const from = sums + std::size_t{row} * 3 * gates.hidden + run / gate_runs * 3 * tensor_units;
#pragma unroll
        for (std::uint32_t gate = 0; gate < 3; ++gate) {
#pragma unroll
            for (std::uint32_t pair = 0; pair < pairs_per_run; ++pair) {
                const float2 two = *reinterpret_cast<const float2*>(from + gate * tensor_units +
                                                                    column_of_pair(run % gate_runs, pair));
                of_[gate][2 * pair] = two.x * gates.sum_scale;
                of_[gate][2 * pair + 1] = two.y * gates.sum_scale;
            }
        }
    }

    [[nodiscard]] __device__ __forceinline__ float of(std::uint32_t gate, std::uint32_t unit) const {
        return of_[gate][unit];
    }

private:
    float of_[3][tensor_run_units];
};

/// Eight units per thread; threads of a row are adjacent.
template <class Numbers, bool first>
__global__ void __launch_bounds__(mma_gate_threads) compute_mma_gates(const __grid_constant__ MmaGates gates) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t runs = gates.hidden / tensor_run_units;
    const std::uint64_t number = std::uint64_t{blockIdx.x} * mma_gate_threads + threadIdx.x;
    const auto row = static_cast<std::uint32_t>(number / runs);
    if (row >= *gates.rows) {
        return;
    }
    const auto run = static_cast<std::uint32_t>(number % runs);
    const std::uint32_t unit = run * tensor_run_units;
    const std::size_t at = std::size_t{row} * gates.hidden + unit;
    EightStates<Numbers> before;
    before.load(gates.before, at, gates.part_values);
    const RunSums own(gates.from_state, gates, row, run);
    Eight<float> own_bias;
    own_bias.load(gates.bias, std::size_t{3} * gates.hidden + unit);
    float in[3][tensor_run_units];  // without the state's products
    if constexpr (first) {
        const std::size_t symbol = std::size_t{gates.symbols[row]} * gates.table_stride;
#pragma unroll
        for (std::uint32_t gate = 0; gate < 3; ++gate) {
            Eight<typename Numbers::Table> table;
            table.load(gates.table, symbol + std::size_t{gate} * gates.hidden + unit);
#pragma unroll
            for (std::uint32_t i = 0; i < tensor_run_units; ++i) {
                in[gate][i] = table.get(i);
            }
        }
    } else {
        const RunSums sums(gates.from_input, gates, row, run);
#pragma unroll
        for (std::uint32_t gate = 0; gate < 3; ++gate) {
            Eight<float> bias;
            bias.load(gates.bias, std::size_t{gate} * gates.hidden + unit);
#pragma unroll
            for (std::uint32_t i = 0; i < tensor_run_units; ++i) {
                in[gate][i] = sums.of(gate, i) + bias.get(i);
            }
        }
    }
    const auto after_of = [&](std::uint32_t i) {
        return new_state<Numbers::rough>(in[0][i] + own.of(0, i), in[1][i] + own.of(1, i), in[2][i],
                                         own.of(2, i) + own_bias.get(i), before.get(i));
    };
    EightStates<Numbers> after;
#pragma unroll
    for (std::uint32_t two = 0; two < pairs_per_run; ++two) {
        after.set(two, after_of(2 * two), after_of(2 * two + 1));
    }
    after.store(gates.after, at, gates.part_values);
}

/// Four scores per thread.
__global__ void __launch_bounds__(mma_gate_threads) place_mma_scores(const __grid_constant__ MmaScores scores) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    constexpr std::uint32_t fours = gru_symbols / 4;
    const std::uint32_t number = blockIdx.x * mma_gate_threads + threadIdx.x;
    const std::uint32_t row = number / fours;
    if (row >= *scores.rows) {
        return;
    }
    const std::uint32_t first = number % fours * 4;
    const std::uint32_t column = first / 16 * 16 + first % 16 / 2;
    static_assert(score_of_column(2) == 4 && score_of_column(8) == 2 && score_of_column(1) == 1 &&
                  score_of_column(16) == 16);
    const float* const sums = scores.sums + std::size_t{row} * gru_symbols + column;
    const float2 low = *reinterpret_cast<const float2*>(sums);
    const float2 high = *reinterpret_cast<const float2*>(sums + 8);
    const float4 bias = *reinterpret_cast<const float4*>(scores.bias + first);
    const float scale = scores.sum_scale;
    *reinterpret_cast<float4*>(scores.scores + std::size_t{row} * gru_symbols + first) = {
        fmaf(low.x, scale, bias.x), fmaf(low.y, scale, bias.y), fmaf(high.x, scale, bias.z),
        fmaf(high.y, scale, bias.w)};
}

namespace {

template <class Numbers>
void launch_mma_gates(const MmaGates& gates, cudaStream_t stream) {
    const std::uint64_t threads = std::uint64_t{gates.most_rows} * (gates.hidden / tensor_run_units);
    launch(gates.from_input == nullptr ? &compute_mma_gates<Numbers, true> : &compute_mma_gates<Numbers, false>,
           "generator's gates",
           {.blocks = static_cast<std::uint32_t>((threads + mma_gate_threads - 1) / mma_gate_threads),
            .threads = mma_gate_threads,
            .chained = true},
           stream, gates);
}

}  // namespace

void enqueue_mma_gates(Precision precision, const MmaGates& gates, cudaStream_t stream) {
    switch (precision) {
        case Precision::bf16:
            return launch_mma_gates<Bf16Numbers>(gates, stream);
        case Precision::fp16:
            return launch_mma_gates<Fp16Numbers>(gates, stream);
        case Precision::tf32:
            return launch_mma_gates<Tf32Numbers>(gates, stream);
        case Precision::tf32x3:
            return launch_mma_gates<TwoPartNumbers>(gates, stream);
        default:
            throw ContractViolation("generator: a precision that the tensor cores do not have");
    }
}

void enqueue_mma_scores(const MmaScores& scores, cudaStream_t stream) {
    const std::uint32_t threads = scores.most_rows * (gru_symbols / 4);
    launch(
        &place_mma_scores, "generator's scores",
        {.blocks = (threads + mma_gate_threads - 1) / mma_gate_threads, .threads = mma_gate_threads, .chained = true},
        stream, scores);
}

}  // namespace sluice::generator
