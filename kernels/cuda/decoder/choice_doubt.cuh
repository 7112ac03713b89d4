#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/token_choice.cuh"

/// How close a draw came to another token.
namespace sluice::decoder {

__device__ inline CutSides TokenChoice::cut_sides(std::uint32_t token) const {
    CutSides sides;
    for (std::uint32_t i = threadIdx.x; i < vocabulary_; i += choice_threads) {
        const float of = score(i);
        sides.look_at(of, rank_of(of, i, places) >= least_, i, token);
    }
#pragma unroll
    for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
        sides.join(sides.of_lane(apart));
    }
    if (threadIdx.x % warp_lanes == 0) {
        memory_.cut_sides[threadIdx.x / warp_lanes] = sides;
    }
    __syncthreads();
    sides = {};
    for (const CutSides& of_warp : memory_.cut_sides) {
        sides.join(of_warp);
    }
    __syncthreads();
    return sides;
}

/// Scores that change sides of the cut of top_k and top_p matter in two cases. If the token itself does; and if
/// one before it goes and one behind it comes, or the other way round, and the sums move by as much as the draw
/// has room: up to twice the least probability that counts. Where that room is larger, its excess is the measure.
__device__ inline ChoiceDoubt TokenChoice::doubt(std::uint32_t token, float uniform) {
    const float sum = memory_.all;
    const float before = __fadd_rn(sum, -__fdiv_rn(weight_of(score(token)), all_));
    const float above = __fadd_rn(sum, -uniform);
    const float below = __fadd_rn(uniform, -before);
    ChoiceDoubt doubt;
    if (token != last_) {
        doubt.doubt.distance = fmaxf(above, 0);
    }
    if (before > 0) {
        doubt.doubt.distance = fminf(doubt.doubt.distance, fmaxf(below, 0));
    }
    if (least_ == 0) {
        return doubt;
    }
    const CutSides sides = cut_sides(token);
    const float own = score(token);
    const float kept = fminf(fminf(sides.kept_before, sides.kept_behind), own);
    const float moved = 2 * __fdiv_rn(weight_of(kept), all_);
    const float room = fmaxf(fminf(above, below) - moved, 0);
    const float across = fminf(sides.kept_before - sides.dropped_behind, sides.kept_behind - sides.dropped_before);
    const float lead = own - fmaxf(sides.dropped_before, sides.dropped_behind);
    doubt.doubt.gap = fminf(fmaxf(across, room), lead);
    if (cut_distance_ != TextDoubt::none) {
        doubt.doubt.distance = fminf(doubt.doubt.distance, fmaxf(cut_distance_, fminf(room, own - kept)));
    }
    doubt.kept = sides.kept;
    return doubt;
}

}  // namespace sluice::decoder
