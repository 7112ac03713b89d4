#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/row_place.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// Epilogues that keep of a row's scores what the choice of its token needs.
namespace sluice::decoder {

/// Of 64 rows' sums a thread has those of two rows, eight apart. Kept::store<C>(arguments, floats, sums, i, place) is
/// called by all threads for each.
template <class C, class Kept>
class RowsEpilogue {
public:
    using Target = FloatProductArguments;

    __device__ __forceinline__ static void prepare(const Target&, const gemm::Layout<C>&) {}

    __device__ __forceinline__ RowsEpilogue(const gemm::Arguments& arguments, const Target& floats,
                                            const gemm::Layout<C>&, std::uint32_t consumer)
        : arguments_(arguments),
          floats_(floats),
          lane_(threadIdx.x % warp_lanes),
          first_row_((C::ping_pong ? 0 : consumer) * C::blocks * gemm::product_rows +
                     threadIdx.x % gemm::warpgroup_threads / warp_lanes * 16 + lane_ / 4) {}

    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = row + first_row_;
        column_ = column;
        gemm::begin_at_zero<C>(sums);
    }

    __device__ __forceinline__ void store(const gemm::Sums<C>& sums) const {
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                const RowPlace place{row_ + block * gemm::product_rows + 8 * i, column_, lane_};
                Kept::template store<C>(arguments_, floats_, sums[block], i, place);
            }
        }
    }

    __device__ __forceinline__ void finish() const {}

private:
    const gemm::Arguments& arguments_;
    const Target& floats_;
    std::uint32_t lane_;
    std::uint32_t first_row_;  // the thread's, in a tile
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;
};

/// The two largest of a tile, as a TileBest. First the largest, then where it is and what comes after it: the chains of
/// dependent instructions are shorter than with all at once.
struct BestsOfRows {
    template <class C>
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 const float (&sums)[C::columns / 2], std::uint32_t i,
                                                 const RowPlace& place) {
        constexpr std::uint32_t count = C::columns / 4;
        float scores[count];
        float finite = 0;  // or NaN; products with rows beyond the last column are 0
#pragma unroll
        for (std::uint32_t v = 0; v < count; ++v) {
            scores[v] = sums[v / 2 * 4 + 2 * i + v % 2];
            finite = fmaf(scores[v], 0, finite);
        }
        if (place.column + C::columns > arguments.columns) {
#pragma unroll
            for (std::uint32_t v = 0; v < count; ++v) {
                scores[v] = place.column_of(v / 2, v % 2) < arguments.columns ? scores[v] : -INFINITY;
            }
        }
        float largest = -INFINITY;
#pragma unroll
        for (const float score : scores) {
            largest = fmaxf(largest, score);
        }
        largest = largest_of_four(largest);
        std::uint32_t first = no_place;
        std::uint32_t equals = 0;
        float second = -INFINITY;
#pragma unroll
        for (std::uint32_t v = count; v-- > 0;) {
            if (scores[v] == largest) {
                first = v;
                ++equals;
            } else {
                second = fmaxf(second, scores[v]);
            }
        }
        std::uint32_t at = first == no_place ? no_place : place.column_of(first / 2, first % 2);
#pragma unroll
        for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
            at = min(at, __shfl_xor_sync(every_lane, at, apart));
            equals += __shfl_xor_sync(every_lane, equals, apart);
            second = fmaxf(second, __shfl_xor_sync(every_lane, second, apart));
            finite += __shfl_xor_sync(every_lane, finite, apart);
        }
        if (place.stores(*arguments.active)) {
            floats.bests[std::size_t{place.row} * floats.results + place.column / C::columns] = {
                largest, at | (finite == 0 ? 0 : nonfinite_mark), equals > 1 ? largest : second};
        }
    }
};

/// What `Stored` stores of each group of tokens.
template <class Stored>
struct GroupsOfRows {
    template <class C>
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 const float (&sums)[C::columns / 2], std::uint32_t i,
                                                 const RowPlace& place) {
        static_assert(C::columns % group_tokens == 0);
#pragma unroll
        for (std::uint32_t first = 0; first < C::columns; first += group_tokens) {
            LaneScores scores;
#pragma unroll
            for (std::uint32_t v = 0; v < group_tokens / 4; ++v) {
                scores[v] = sums[first / 2 + v / 2 * 4 + 2 * i + v % 2];
            }
            Stored::store(arguments, floats, scores, {place.row, place.column + first, place.lane});
        }
    }
};

/// A TileBest, and the ScoreSums at a temperature of 1.
struct BestsAndSumsOfRows {
    template <class C>
    __device__ __forceinline__ static void store(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 const float (&sums)[C::columns / 2], std::uint32_t i,
                                                 const RowPlace& place) {
        GroupsOfRows<StoredPlainSums>::store<C>(arguments, floats, sums, i, place);
        BestsOfRows::store<C>(arguments, floats, sums, i, place);
    }
};

template <class C>
using BestsEpilogue = RowsEpilogue<C, BestsOfRows>;

template <class C>
using BestsAndSumsEpilogue = RowsEpilogue<C, BestsAndSumsOfRows>;

template <class C>
using ScoresEpilogue = RowsEpilogue<C, GroupsOfRows<StoredScores>>;

template <class C>
using ScoreSumsEpilogue = RowsEpilogue<C, GroupsOfRows<StoredScoreSums>>;

template <class C>
using BothSumsEpilogue = RowsEpilogue<C, GroupsOfRows<StoredBothSums>>;

}  // namespace sluice::decoder
