#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/mma_layout.cuh"

/// Copies of rows that begin at any value of two bytes.
namespace sluice::gemm {

/// The 16 bytes at offset `bytes`, which is even and below 16, of the two blocks.
__device__ __forceinline__ uint4 join_blocks(const uint4& first, const uint4& second, std::uint32_t bytes) {
    std::uint32_t words[] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
#pragma unroll
    for (std::uint32_t i = 0; i < 6; ++i) {
        words[i] = (bytes & 8) != 0 ? words[i + 2] : words[i];
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 5; ++i) {
        words[i] = (bytes & 4) != 0 ? words[i + 1] : words[i];
    }
    const std::uint32_t bits = (bytes & 2) * 8;
    return {__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
            __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits)};
}

/// The first `bytes`, an even number below 16, then zeros.
__device__ __forceinline__ uint4 keep_first(const uint4& block, std::uint32_t bytes) {
    const auto kept = [&](std::uint32_t word, std::uint32_t first) {
        return bytes >= first + 4 ? word : bytes == first + 2 ? word & 0xffffU : 0U;
    };
    return {kept(block.x, 0), kept(block.y, 4), kept(block.z, 8), kept(block.w, 12)};
}

/// A matrix of values of two bytes, row after row without gaps. Nothing outside of it is read.
struct UnalignedMatrix {
    const std::uint8_t* begin;
    const std::uint8_t* end;
    std::uint32_t rows;  // active ones
    std::uint32_t row_bytes;

    /// 16 bytes from an aligned address; zeros outside the matrix.
    __device__ __forceinline__ uint4 load_block(const std::uint8_t* from) const {
        if (from >= begin && from + mma_unit_bytes <= end) {
            return *reinterpret_cast<const uint4*>(from);
        }
        constexpr std::uint32_t half = mma_unit_bytes / 2;
        std::uint64_t lower = 0;
        std::uint64_t upper = 0;
#pragma unroll 1
        for (std::uint32_t i = 0; i < half; i += 2) {
            lower |= load_value(from + i) << 8 * i;
            upper |= load_value(from + half + i) << 8 * i;
        }
        return {static_cast<std::uint32_t>(lower), static_cast<std::uint32_t>(lower >> 32),
                static_cast<std::uint32_t>(upper), static_cast<std::uint32_t>(upper >> 32)};
    }

private:
    __device__ __forceinline__ std::uint64_t load_value(const std::uint8_t* from) const {
        return from >= begin && from < end ? *reinterpret_cast<const std::uint16_t*>(from) : 0;
    }
};

/// A thread's part of the copies of a tile's `count` rows: one unit of every at_once-th row. A unit is joined from the
/// two aligned blocks that contain it. Rows and depth outside the matrix are zeros.
template <std::uint32_t count, std::uint32_t at_once>
class UnalignedRows {
public:
    __device__ __forceinline__ UnalignedRows(const UnalignedMatrix& matrix, std::uint32_t first_row)
        : matrix_(matrix),
          row_(first_row + threadIdx.x / mma_row_units),
          unit_at_(threadIdx.x % mma_row_units * mma_unit_bytes) {
        // The shift is the same for all of this thread's rows, which are multiples of 8 apart.
        static_assert(at_once % 8 == 0 && count % at_once == 0);
        from_ = matrix.begin + std::size_t{row_} * matrix.row_bytes + unit_at_;
        shift_ = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from_)) % mma_unit_bytes;
        from_ -= shift_;
    }

    /// Starts the copies of a step.
    __device__ __forceinline__ void load(std::uint32_t step) {
        const std::uint32_t at = step * mma_step_bytes + unit_at_;
        const std::uint8_t* const from = from_ + std::size_t{step} * mma_step_bytes;
#pragma unroll
        for (std::uint32_t i = 0; i < units; ++i) {
            const std::uint8_t* const block = from + std::size_t{i * at_once} * matrix_.row_bytes;
            const bool present = row_ + i * at_once < matrix_.rows && at < matrix_.row_bytes;
            const bool goes_on = present && shift_ != 0 && at + mma_unit_bytes - shift_ < matrix_.row_bytes;
            first_[i] = present ? matrix_.load_block(block) : uint4{};
            second_[i] = goes_on ? matrix_.load_block(block + mma_unit_bytes) : uint4{};
        }
    }

    /// Completes the copies of the step that was started last: to rows of mma_step_bytes in shared memory.
    __device__ __forceinline__ void store(std::uint8_t* to, std::uint32_t step) const {
        const std::uint32_t at = step * mma_step_bytes + unit_at_;
        const std::uint32_t place = mma_unit_at(threadIdx.x / mma_row_units, threadIdx.x % mma_row_units);
#pragma unroll
        for (std::uint32_t i = 0; i < units; ++i) {
            uint4 unit = join_blocks(first_[i], second_[i], shift_);
            if (at + mma_unit_bytes > matrix_.row_bytes) {
                unit = keep_first(unit, at < matrix_.row_bytes ? matrix_.row_bytes - at : 0);
            }
            *reinterpret_cast<uint4*>(to + place + i * at_once * mma_step_bytes) = unit;
        }
    }

private:
    static constexpr std::uint32_t units = count / at_once;

    UnalignedMatrix matrix_;
    std::uint32_t row_;
    std::uint32_t unit_at_;
    std::uint32_t shift_;
    const std::uint8_t* from_;  // the first row's first block
    uint4 first_[units];
    uint4 second_[units];
};

}  // namespace sluice::gemm
