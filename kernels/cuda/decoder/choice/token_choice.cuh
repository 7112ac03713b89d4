#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/cross.cuh"
#include "kernels/cuda/decoder/choice/few_tokens.cuh"
#include "kernels/cuda/decoder/choice/likely_cut.cuh"
#include "kernels/cuda/decoder/choice/log_probability.cuh"
#include "kernels/cuda/decoder/choice/row_scores.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// A block's choice of a token by the scores of a row: as the host's TokenDraw.
namespace sluice::decoder {

class TokenChoice {
public:
    __device__ TokenChoice(const Rule& rule, const RowScores& scores, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), memory_(memory) {}

    /// The best of the network's scores, or of the scores after the penalty, which draw() requires.
    template <bool penalised>
    __device__ BestTwo best() {
        BestTwo of_groups;
        knows_sums_ = look_at_sums(of_groups, penalised);
        if (knows_sums_) {
            if (penalised && rule_.repetition_penalty != 1) {
                of_groups = best_of_penalised_groups();
            }
            of_groups = best_of_block(of_groups);
            if (of_groups.best.is_any()) {
                return best_of_group<penalised>(of_groups);
            }
        }
        return best_of_tokens<penalised>();
    }

    /// Whether best() has seen a NaN or an infinity.
    [[nodiscard]] __device__ bool any_nonfinite() const { return __syncthreads_or(found_nonfinite_ ? 1 : 0) != 0; }

    /// ln of softmax of the network's scores at `token`. Call after best().
    __device__ float log_probability(const Best& best, std::uint32_t token) {
        double sum = 0;
        if (knows_sums_) {
            for (std::uint32_t group = threadIdx.x; group < scores_.groups(); group += choice_threads) {
                sum += part_of_sum(scores_.sum_of(group), best.score);
            }
        } else {
            scores_.each_raw(
                [&](float raw) { sum += static_cast<double>(ordered::exp_of(__fadd_rn(raw, -best.score))); });
        }
        sum = sum_of_warp(sum);
        if (threadIdx.x % warp_lanes == 0) {
            memory_.partial_sums[threadIdx.x / warp_lanes] = sum;
        }
        __syncthreads();
        sum = 0;
        for (const double part : memory_.partial_sums) {
            sum += part;
        }
        __syncthreads();
        return log_of_softmax(scores_.raw(token), best.score, sum);
    }

    /// The first token at which the sum of kept weights exceeds `uniform` of all.
    __device__ std::uint32_t draw(float largest, float uniform) {
        scores_.set_best(largest);
        if (cuts_by_number(rule_, scores_) || rule_.top_p < 1) {
            LikelyCut cut(rule_, scores_, weighs_groups(), memory_);
            FewTokens few(rule_, scores_, memory_);
            if (few.collect(cut.last_bin())) {
                least_ = few.least_rank(cut.all());
                cut_distance_ = few.distance();
                few.draw(least_, uniform);
                return memory_.drawn.token;
            }
            least_ = cut.least_rank();
            cut_distance_ = cut.distance();
        }
        add_up_groups();
        if (threadIdx.x < warp_lanes) {
            draw_token(uniform);
        }
        __syncthreads();
        return memory_.drawn.token;
    }

    /// How close the last draw() came to another token; see choice_doubt.cuh.
    __device__ ChoiceDoubt doubt(std::uint32_t token, float uniform) const;

private:
    [[nodiscard]] __device__ __forceinline__ unsigned long long weight(float score, std::uint32_t token) const {
        return least_ == 0 || RowScores::rank(score, token) >= least_ ? scores_.weight(score) : 0;
    }

    [[nodiscard]] __device__ bool weighs_groups() const {
        return knows_sums_ && rule_.repetition_penalty == 1 && temperature_of_sums(rule_) == rule_.temperature;
    }

    /// By reading all scores.
    template <bool penalised>
    __device__ BestTwo best_of_tokens() {
        BestTwo best;
        scores_.each_group([](std::uint32_t) { return true; },
                           [&](std::uint32_t group, const RowScores::Share& share) {
                               float of_group = -INFINITY;
                               scores_.each_raw_of(group, share, [&](float raw, std::uint32_t token) {
                                   found_nonfinite_ = found_nonfinite_ || !isfinite(raw);
                                   const float score = penalised ? scores_.penalised(raw, token) : raw;
                                   best.look_at_next(score, token);
                                   of_group = fmaxf(of_group, score);
                               });
                               if (penalised) {
                                   keep_best_of(group, of_group);
                               }
                           });
        best = best_of_block(best);
        if (!best.best.is_any()) {
            best.best = {penalised ? scores_[0] : scores_.raw(0), 0};
        }
        return best;
    }

    /// This thread's largest scores of groups, with their numbers as places. False: groups' sums are not known, or not
    /// all scores are finite. Called by all threads of a block.
    __device__ bool look_at_sums(BestTwo& of_groups, bool keeps_bests) {
        bool known = scores_.has_sums();
        for (std::uint32_t group = threadIdx.x; known && group < scores_.groups(); group += choice_threads) {
            const ScoreSum sum = scores_.sum_of(group);
            known = isfinite(sum.sum);
            of_groups.look_at_next(sum.largest, group);
            if (keeps_bests) {
                scores_.set_best_of(group, sum.largest);
            }
        }
        return __syncthreads_and(known ? 1 : 0) != 0;
    }

    /// Reads the groups that have tokens that the penalty changes.
    __device__ BestTwo best_of_penalised_groups() {
        scores_.each_group([&](std::uint32_t group) { return scores_.has_marks(group); },
                           [&](std::uint32_t group, const RowScores::Share& share) {
                               float of_group = -INFINITY;
                               scores_.each_of(group, share,
                                               [&](float score, std::uint32_t) { of_group = fmaxf(of_group, score); });
                               keep_best_of(group, of_group);
                           });
        __syncthreads();
        BestTwo of_groups;
        for (std::uint32_t group = threadIdx.x; group < scores_.groups(); group += choice_threads) {
            of_groups.look_at_next(scores_.best_of(group), group);
        }
        return of_groups;
    }

    /// Of all scores, by the best of all groups and the scores of that one, which each warp reads.
    template <bool penalised>
    [[nodiscard]] __device__ BestTwo best_of_group(const BestTwo& of_groups) const {
        const std::uint32_t group = of_groups.best.place;
        BestTwo best;
        RowScores::Share share;
        scores_.load(group, share);
        scores_.each_raw_of(group, share, [&](float raw, std::uint32_t token) {
            best.look_at_next(penalised ? scores_.penalised(raw, token) : raw, token);
        });
        best = best_of_warp(best);
        best.second = fmaxf(best.second, of_groups.second);
        return best;
    }

    /// Called by all lanes of a warp.
    [[nodiscard]] __device__ static BestTwo best_of_warp(BestTwo best) {
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            best.join(best.of_lane(apart));
        }
        return best;
    }

    /// Called by all threads of a block.
    [[nodiscard]] __device__ BestTwo best_of_block(BestTwo best) const {
        best = best_of_warp(best);
        if (threadIdx.x % warp_lanes == 0) {
            memory_.best_scores[threadIdx.x / warp_lanes] = best.best.score;
            memory_.best_places[threadIdx.x / warp_lanes] = best.best.place;
            memory_.second_scores[threadIdx.x / warp_lanes] = best.second;
        }
        __syncthreads();
        best = {};
        for (std::uint32_t warp = 0; warp < choice_warps; ++warp) {
            best.join({{memory_.best_scores[warp], memory_.best_places[warp]}, memory_.second_scores[warp]});
        }
        __syncthreads();
        return best;
    }

    /// Called by all lanes of a warp, with the largest score of each lane's share of a group.
    __device__ __forceinline__ void keep_best_of(std::uint32_t group, float of_lane) {
        of_lane = largest_of_warp(of_lane);
        if (threadIdx.x % warp_lanes == 0) {
            scores_.set_best_of(group, of_lane);
        }
    }

    /// Sums the weights of each group, without reading those that have none.
    __device__ void add_up_groups() {
        for (std::uint32_t group = threadIdx.x; group < scores_.groups(); group += choice_threads) {
            memory_.group_sums()[group] = 0;
        }
        __syncthreads();
        const auto may_add = [&](std::uint32_t group) {
            const float best = scores_.best_of(group);
            return scores_.may_weigh(best) && RowScores::may_reach(best, least_);
        };
        scores_.each_group(may_add, [&](std::uint32_t group, const RowScores::Share& share) {
            unsigned long long sum = 0;
            scores_.each_of(group, share, [&](float score, std::uint32_t token) { sum += weight(score, token); });
            sum = sum_of_warp_weights(sum);
            if (threadIdx.x % warp_lanes == 0) {
                memory_.group_sums()[group] = sum;
            }
        });
        __syncthreads();
    }

    /// Draws a group, and then a token of it. Called by a warp.
    __device__ void draw_token(float uniform) {
        unsigned long long all = 0;
        unsigned long long wanted = 0;
        const Crossed group = cross(
            scores_.groups(), [&](std::uint32_t i) { return memory_.group_sums()[i]; },
            [&](unsigned long long sum) {
                all = sum;
                wanted = part_of(uniform, all);
                return wanted;
            });
        const std::uint32_t begin = group.number * group_tokens;
        const Crossed token = cross(
            min(scores_.vocabulary() - begin, group_tokens),
            [&](std::uint32_t i) { return weight(scores_[begin + i], begin + i); },
            [&](unsigned long long) { return wanted - group.before; });
        if (threadIdx.x == 0) {
            memory_.drawn = {.token = begin + token.number,
                             .weight = token.weight,
                             .up_to = group.before + token.before + token.weight,
                             .all = all};
        }
    }

    __device__ CutSides cut_sides(std::uint32_t token) const;

    const Rule& rule_;
    RowScores scores_;
    ChoiceMemory& memory_;
    std::uint64_t least_ = 0;  // least rank that is kept
    float cut_distance_ = TextDoubt::none;
    bool knows_sums_ = false;
    bool found_nonfinite_ = false;  // by this thread
};

}  // namespace sluice::decoder
