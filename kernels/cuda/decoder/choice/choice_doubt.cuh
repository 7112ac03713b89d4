#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/token_choice.cuh"

/// How close a draw came to another token.
namespace sluice::decoder {

__device__ inline CutSides TokenChoice::cut_sides(std::uint32_t token) const {
    CutSides sides;
    const auto may_reach = [&](std::uint32_t group) {
        const float best = scores_.best_of(group);
        const bool may = RowScores::may_reach(best, least_);
        if (!may) {
            sides.look_at(best, false, group * group_tokens, token);  // which is in another group
        }
        return may;
    };
    scores_.each_group(may_reach, [&](std::uint32_t group, const RowScores::Share& share) {
        scores_.each_of(group, share, [&](float score, std::uint32_t place) {
            sides.look_at(score, RowScores::rank(score, place) >= least_, place, token);
        });
    });
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

/// Scores that cross the cut of top_k and top_p matter in two cases: if the token's own does; and if one before it
/// leaves and one behind it enters, or vice versa, and the sums move by the room that the draw has: by up to twice the
/// least probability that is kept. If the room is larger, its excess is the measure.
__device__ inline ChoiceDoubt TokenChoice::doubt(std::uint32_t token, float uniform) const {
    const Drawn& drawn = memory_.drawn;
    const auto share = [&](unsigned long long weight) {
        return static_cast<double>(weight) / static_cast<double>(drawn.all);
    };
    const auto above = static_cast<float>(share(drawn.up_to) - static_cast<double>(uniform));
    const auto below = static_cast<float>(static_cast<double>(uniform) - share(drawn.up_to - drawn.weight));
    ChoiceDoubt doubt;
    if (drawn.up_to != drawn.all) {
        doubt.doubt.distance = fmaxf(above, 0);
    }
    if (drawn.up_to != drawn.weight) {
        doubt.doubt.distance = fminf(doubt.doubt.distance, fmaxf(below, 0));
    }
    if (least_ == 0) {
        return doubt;
    }
    const CutSides sides = cut_sides(token);
    const float own = scores_[token];
    const float kept = fminf(fminf(sides.kept_before, sides.kept_behind), own);
    const auto moved = static_cast<float>(2 * share(scores_.weight(kept)));
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
