#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/row_scores.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// The tokens that top_k and top_p keep.
namespace sluice::decoder {

/// Weighs each token alike.
struct OneEach {
    __device__ __forceinline__ unsigned long long operator()(std::uint64_t, float) const { return 1; }
};

/// Weighs tokens of at least this rank.
struct WeightsFrom {
    const RowScores& scores;
    std::uint64_t least;

    __device__ __forceinline__ unsigned long long operator()(std::uint64_t rank, float score) const {
        return rank >= least ? scores.weight(score) : 0;
    }
};

/// Finds the rank at which weights, added up from the largest score down, reach a sum: one pass over the scores sums
/// the weights per bin of scores, a second one collects the scores of the bin in which the sum is reached. Neither
/// reads groups whose largest score shows that they have nothing to add.
class LikelyCut {
public:
    /// `weighs_groups`: RowScores::weight_of() is known.
    __device__ LikelyCut(const Rule& rule, const RowScores& scores, bool weighs_groups, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), memory_(memory), weighs_groups_(weighs_groups) {}

    /// A bin that, with those before it, has all tokens that may be chosen. Call before least_rank().
    __device__ std::uint32_t last_bin() {
        if (cuts_by_number(rule_, scores_)) {
            last_bin_ = last_bin_of(rule_.top_k);
        } else if (!weighs_groups_ || !cross_share_by_groups()) {
            cross_share(0);
            last_bin_ = memory_.crossed_bin;
        }
        return last_bin_;
    }

    /// The least rank of the tokens that may be chosen: top_k of them, and of those as many as add up to top_p.
    __device__ std::uint64_t least_rank() {
        std::uint64_t least = 0;
        if (cuts_by_number(rule_, scores_)) {
            sum_bins([&](float best) { return scores_.bin_of(best) <= last_bin_; }, OneEach{});
            cross_bin([&](unsigned long long) -> unsigned long long { return rule_.top_k; });
            least = rank_in_bin(OneEach{});
            if (rule_.top_p == 1) {
                return least;
            }
            cross_share(least);
        }
        least = rank_in_bin(WeightsFrom{scores_, least});
        distance_ = static_cast<float>(memory_.cut_distance) / static_cast<float>(all_);
        return least;
    }

    /// Sum of the weights of what top_k keeps, with top_p; without top_k, after last_bin().
    [[nodiscard]] __device__ unsigned long long all() const { return all_; }

    /// How close top_p's sum came to another token, as a share of all that top_k keeps.
    [[nodiscard]] __device__ float distance() const { return distance_; }

private:
    /// A bin that, with those before it, has at least `count` scores: as many groups have their largest one there.
    __device__ std::uint32_t last_bin_of(std::uint32_t count) {
        if (count > scores_.groups()) {
            return ScoreBins::count - 1;
        }
        clear_bins();
        for (std::uint32_t group = threadIdx.x; group < scores_.groups(); group += choice_threads) {
            memory_.cut.bins.add(scores_.bin_of(scores_.best_of(group)), 1);
        }
        __syncthreads();
        cross_bin([&](unsigned long long) -> unsigned long long { return count; });
        return memory_.crossed_bin;
    }

    /// Finds the bin in which weights of tokens of at least this rank reach top_p.
    __device__ void cross_share(std::uint64_t least) {
        sum_bins([&](float best) { return scores_.may_weigh(best) && RowScores::may_reach(best, least); },
                 WeightsFrom{scores_, least});
        cross_bin([&](unsigned long long all) {
            all_ = all;
            return share_of(rule_.top_p, all);
        });
    }

    /// The same for all tokens, by a part of the scores. The weights of groups, each in the bin of its largest score,
    /// do not reach top_p later than those of tokens do: looks at the bins up to that one and some behind it. False: it
    /// is not there, or most groups have tokens there.
    __device__ bool cross_share_by_groups() {
        constexpr std::uint32_t bins_behind = 64;
        clear_bins();
        for (std::uint32_t group = threadIdx.x; group < scores_.groups(); group += choice_threads) {
            memory_.cut.bins.add(scores_.bin_of(scores_.best_of(group)), scores_.weight_of(group));
        }
        __syncthreads();
        cross_bin([&](unsigned long long all) {
            all_ = all;
            return share_of(rule_.top_p, all);
        });
        const std::uint32_t last = min(memory_.crossed_bin + bins_behind, ScoreBins::count - 2);
        if (scores_.groups_up_to(last) > scores_.groups() / 2) {
            return false;
        }
        memory_.crossed_bin = ScoreBins::count;
        const float least = scores_.floor_of(last);
        sum_bins([&](float best) { return best >= least; },
                 [&](std::uint64_t, float score) { return score >= least ? scores_.weight(score) : 0; });
        cross_bin([&](unsigned long long) { return share_of(rule_.top_p, all_); });
        last_bin_ = memory_.crossed_bin;
        return last_bin_ <= last;
    }

    /// The rank at which the sum of cross_bin() is reached.
    template <class Weigh>
    __device__ std::uint64_t rank_in_bin(const Weigh& weigh) {
        const std::uint32_t bin = memory_.crossed_bin;
        const std::uint32_t count = collect(scores_, memory_, bin, bin, CollectedScores::most, weigh);
        if (count <= CollectedScores::most) {
            cross_score(count);
        } else {
            cross_digits(weigh);
        }
        const std::uint64_t rank = memory_.rank;
        __syncthreads();
        return rank;
    }

    __device__ void clear_bins() {
        for (std::uint32_t i = threadIdx.x; i < ScoreBins::count; i += choice_threads) {
            memory_.cut.bins.low[i] = 0;
            memory_.cut.bins.high[i] = 0;
        }
        __syncthreads();
    }

    template <class MayAdd, class Weigh>
    __device__ void sum_bins(const MayAdd& may_add, const Weigh& weigh) {
        clear_bins();
        scores_.each_wanted(may_add, [&](float score, std::uint32_t token) {
            const unsigned long long weight = weigh(RowScores::rank(score, token), score);
            if (weight != 0) {
                memory_.cut.bins.add(scores_.bin_of(score), weight);
            }
        });
        __syncthreads();
    }

    /// Finds the bin in which wanted(sum of all) is reached, and the part of it that is wanted of its scores.
    template <class Wanted>
    __device__ void cross_bin(const Wanted& wanted) {
        constexpr std::uint32_t bins_per_thread = ScoreBins::count / choice_threads;
        static_assert(ScoreBins::count % choice_threads == 0);
        const std::uint32_t first = threadIdx.x * bins_per_thread;
        unsigned long long own = 0;
        for (std::uint32_t i = first; i < first + bins_per_thread; ++i) {
            own += memory_.cut.bins.sum(i);
        }
        const unsigned long long up_to = sum_up_to_lane(own);
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
        }
        __syncthreads();
    }

    /// Finds the rank among the scores of the bin.
    __device__ void cross_score(std::uint32_t count) {
        const CollectedScores& scores = memory_.cut.scores;
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

    /// The same for a bin with more scores than CollectedScores holds: digit by digit of the rank, over all scores.
    template <class Weigh>
    __device__ void cross_digits(const Weigh& weigh) {
        const std::uint32_t bin = memory_.crossed_bin;
        std::uint64_t prefix = 0;
        for (int shift = 56; shift >= 0; shift -= 8) {
            for (std::uint32_t i = threadIdx.x; i < digits; i += choice_threads) {
                memory_.cut.digit_sums[i] = 0;
            }
            __syncthreads();
            scores_.each_wanted(
                [&](float best) { return scores_.bin_of(best) <= bin; },
                [&](float score, std::uint32_t token) {
                    const std::uint64_t rank = RowScores::rank(score, token);
                    if (scores_.bin_of(score) == bin && (shift == 56 || (rank ^ prefix) >> (shift + 8) == 0)) {
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
    bool weighs_groups_;
    std::uint32_t last_bin_ = 0;
    unsigned long long all_ = 0;
    float distance_ = TextDoubt::none;
};

}  // namespace sluice::decoder
