#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/row_scores.cuh"

/// The tokens that top_k and top_p keep.
namespace sluice::decoder {

/// Finds the rank at which weights, added up from the largest score down, reach a sum: one pass over all scores sums
/// the weights per bin of scores, a second one collects the scores of the bin in which the sum is reached.
class LikelyCut {
public:
    __device__ LikelyCut(const Rule& rule, const RowScores& scores, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), memory_(memory) {}

    /// The least rank of the tokens that may be chosen: top_k of them, and of those as many as add up to top_p.
    __device__ std::uint64_t least_rank() {
        std::uint64_t least = 0;
        if (rule_.top_k != 0 && rule_.top_k < scores_.vocabulary()) {
            least = rank_at([](std::uint64_t, float) { return 1ULL; },
                            [&](unsigned long long) -> unsigned long long { return rule_.top_k; });
        }
        if (rule_.top_p < 1) {
            const auto weigh = [&](std::uint64_t rank, float score) {
                return rank >= least ? scores_.weight(score) : 0ULL;
            };
            unsigned long long all = 0;
            least = rank_at(weigh, [&](unsigned long long sum) {
                all = sum;
                return max(1ULL, __double2ull_rz(ceil(static_cast<double>(rule_.top_p) * static_cast<double>(sum))));
            });
            distance_ = static_cast<float>(memory_.cut_distance) / static_cast<float>(all);
        }
        return least;
    }

    /// How close top_p's sum came to another token, as a share of all that top_k keeps.
    [[nodiscard]] __device__ float distance() const { return distance_; }

private:
    template <class Weigh, class Wanted>
    __device__ std::uint64_t rank_at(const Weigh& weigh, const Wanted& wanted) {
        sum_bins(weigh);
        cross_bin(wanted);
        collect_bin(weigh);
        if (memory_.in_bin <= BinScores::most) {
            cross_score();
        } else {
            cross_digits(weigh);
        }
        const std::uint64_t rank = memory_.rank;
        __syncthreads();
        return rank;
    }

    /// Larger for smaller scores.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t bin_of(float score) const {
        constexpr float bins_a_unit = 64;  // a weight of 2^-40 is 27.7 units away
        return min(__float2uint_rz(-scores_.distance(score) * bins_a_unit), ScoreBins::count - 1);
    }

    template <class Weigh>
    __device__ void sum_bins(const Weigh& weigh) {
        ScoreBins& bins = memory_.cut.bins;
        for (std::uint32_t i = threadIdx.x; i < ScoreBins::count; i += choice_threads) {
            bins.low[i] = 0;
            bins.high[i] = 0;
        }
        __syncthreads();
        scores_.each_of_thread([&](float score, std::uint32_t token) {
            bins.add(bin_of(score), weigh(RowScores::rank(score, token), score));
        });
        __syncthreads();
    }

    /// Finds the bin in which wanted(sum of all) is reached, and the part of it that is wanted of its scores.
    template <class Wanted>
    __device__ void cross_bin(const Wanted& wanted) {
        constexpr std::uint32_t bins_a_thread = ScoreBins::count / choice_threads;
        static_assert(ScoreBins::count % choice_threads == 0);
        const std::uint32_t first = threadIdx.x * bins_a_thread;
        unsigned long long own = 0;
        for (std::uint32_t i = first; i < first + bins_a_thread; ++i) {
            own += memory_.cut.bins.sum(i);
        }
        unsigned long long up_to = own;
#pragma unroll
        for (std::uint32_t apart = 1; apart < warp_lanes; apart *= 2) {
            const unsigned long long other = __shfl_up_sync(every_lane, up_to, apart);
            up_to += threadIdx.x % warp_lanes >= apart ? other : 0;
        }
        if (threadIdx.x % warp_lanes == warp_lanes - 1) {
            memory_.warp_sums[threadIdx.x / warp_lanes] = up_to;
        }
        __syncthreads();
        unsigned long long all = 0;
        unsigned long long before = up_to - own;
        for (std::uint32_t warp = 0; warp < choice_warps; ++warp) {
            before += warp < threadIdx.x / warp_lanes ? memory_.warp_sums[warp] : 0;
            all += memory_.warp_sums[warp];
        }
        const unsigned long long sum = wanted(all);
        if (before < sum && sum <= before + own) {
            std::uint32_t bin = first;
            for (; before + memory_.cut.bins.sum(bin) < sum; ++bin) {
                before += memory_.cut.bins.sum(bin);
            }
            memory_.crossed_bin = bin;
            memory_.wanted = sum - before;
            memory_.in_bin = 0;
        }
        __syncthreads();
    }

    template <class Weigh>
    __device__ void collect_bin(const Weigh& weigh) {
        const std::uint32_t bin = memory_.crossed_bin;
        BinScores& scores = memory_.cut.bin;
        scores_.each_of_thread([&](float score, std::uint32_t token) {
            if (bin_of(score) == bin) {
                const std::uint32_t at = atomicAdd(&memory_.in_bin, 1U);
                if (at < BinScores::most) {
                    scores.ranks[at] = RowScores::rank(score, token);
                    scores.weights[at] = weigh(scores.ranks[at], score);
                }
            }
        });
        __syncthreads();
    }

    /// Finds the rank among the scores of the bin.
    __device__ void cross_score() {
        const BinScores& scores = memory_.cut.bin;
        const std::uint32_t count = memory_.in_bin;
        const unsigned long long wanted = memory_.wanted;
        for (std::uint32_t i = threadIdx.x; i < count; i += choice_threads) {
            const std::uint64_t rank = scores.ranks[i];
            unsigned long long before = 0;
            for (std::uint32_t j = 0; j < count; ++j) {
                before += scores.ranks[j] > rank ? scores.weights[j] : 0;
            }
            if (before < wanted && wanted <= before + scores.weights[i]) {
                memory_.rank = rank;
                memory_.cut_distance = min(wanted - before, before + scores.weights[i] - wanted);
            }
        }
        __syncthreads();
    }

    /// The same for a bin with more scores than BinScores holds: digit by digit of the rank, over all scores.
    template <class Weigh>
    __device__ void cross_digits(const Weigh& weigh) {
        const std::uint32_t bin = memory_.crossed_bin;
        std::uint64_t prefix = 0;
        for (int shift = 56; shift >= 0; shift -= 8) {
            for (std::uint32_t i = threadIdx.x; i < digits; i += choice_threads) {
                memory_.cut.digit_sums[i] = 0;
            }
            __syncthreads();
            scores_.each_of_thread([&](float score, std::uint32_t token) {
                const std::uint64_t rank = RowScores::rank(score, token);
                if (bin_of(score) == bin && (shift == 56 || (rank ^ prefix) >> (shift + 8) == 0)) {
                    atomicAdd(&memory_.cut.digit_sums[rank >> shift & (digits - 1)], weigh(rank, score));
                }
            });
            __syncthreads();
            if (threadIdx.x == 0) {
                cross_digit(prefix, shift);
            }
            __syncthreads();
            prefix = memory_.rank;
        }
    }

    /// Called by one thread.
    __device__ void cross_digit(std::uint64_t prefix, int shift) {
        std::uint32_t digit = digits - 1;
        for (; memory_.cut.digit_sums[digit] < memory_.wanted; --digit) {
            memory_.wanted -= memory_.cut.digit_sums[digit];
        }
        const unsigned long long weight = memory_.cut.digit_sums[digit];  // after the last digit, of one token
        memory_.rank = prefix | std::uint64_t{digit} << shift;
        memory_.cut_distance = min(memory_.wanted, weight - memory_.wanted);
    }

    const Rule& rule_;
    const RowScores& scores_;
    ChoiceMemory& memory_;
    float distance_ = TextDoubt::none;
};

}  // namespace sluice::decoder
