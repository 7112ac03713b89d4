#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/device/gpu_code.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/gemm/work.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::decoder {

/// out[m][n] = activation(bias[n] + sum over k of a[m][k] * b[n][k]) + residual[m][n] as fp32, by wgmma or mma.sync,
/// for a and b of bf16, fp16 or tf32; or only what choosing one of each row's sums needs. An element's bits depend
/// neither on the number of rows nor on its row.
///
/// Precision::tf32x3, by wgmma only, means operands in two parts of fp16 (half_values.hpp) with rows (2, depth): three
/// products, all but that of the remainders, whose sums are added up in fp32 after every 256 of depth. That errs about
/// as fp32 does. An operand beyond 65504 is infinite, and its products are infinite or NaN.
///
/// Precision::fp16x2, likewise, means operands in fp16 and codes of e4m3 (half_values.hpp): rows are (depth) fp16 and
/// (2, depth) e4m3, those of b with the remainders first. The product of fp16 is added to that of the codes. Beyond
/// 65504 as above. It activates by GPT-2's GELU only, what it writes in parts.
struct FloatProductShape {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t depth;  ///< A multiple of 8.
    Activation activation = Activation::none;
    bool rounds_to_tf32 = false;  ///< Rounds the output.
    bool in_parts = false;        ///< Writes rows as a's, (rows, 2 stride) of 16 bits. tf32x3 and fp16x2 only.
    /// Of score_sums; not 0. 1 beside bests. Infinite beside `out`: their sums are unspecified, or NaN.
    float temperature = 1;
};

/// Device memory; not owned. Aligned to 16 bytes.
struct FloatProductMemory {
    const void* a;              ///< (rows, depth); for tf32x3 and fp16x2 (rows, 2 depth) of 16 bits.
    const void* b;              ///< (columns, depth); likewise.
    const float* bias;          ///< (columns); none if null.
    const float* residual;      ///< (rows, stride); none if null. May be `out`.
    float* out;                 ///< (rows, stride); values after the columns are unspecified. See bests.
    std::uint32_t stride;       ///< Even, at least `columns`.
    TileBest* bests = nullptr;  ///< (rows, best_tiles()), in place of `out`; of nothing but a product.
    /// (rows, groups_of(columns)), beside `out` or bests, or in place of both; as bests. Beside bests a result of minus
    /// infinity adds nothing to them.
    ScoreSum* score_sums = nullptr;
    float* plain_sums = nullptr;  ///< Beside nothing but score_sums: their sums at a temperature of 1.
    const std::uint32_t* active;  ///< In device memory: number of active rows.
};

/// Most tiles of a row of so many columns.
[[nodiscard]] constexpr std::uint32_t most_best_tiles(std::uint32_t columns) {
    constexpr std::uint32_t least_tile_columns = 192;
    return (columns + least_tile_columns - 1) / least_tile_columns;
}

class FloatProduct {
public:
    /// By `instructions`, or the fastest of the current device and the build. Throws ContractViolation if the shape or
    /// the precision is not supported or the build has no code for them; Error if CUDA fails.
    FloatProduct(const FloatProductShape& shape, Precision precision, const FloatProductMemory& memory,
                 std::optional<MatrixInstructions> instructions = {});

    /// Enqueues the product; allocates nothing. It may start while the previous kernel ends.
    void enqueue(cudaStream_t stream) const;

    /// Tiles of a row, each of tile_columns() columns; at most most_best_tiles().
    [[nodiscard]] std::uint32_t best_tiles() const noexcept { return (columns_ + tile_columns_ - 1) / tile_columns_; }
    [[nodiscard]] std::uint32_t tile_columns() const noexcept { return tile_columns_; }

private:
    std::uint32_t columns_;
    std::uint32_t tile_columns_ = 0;
    std::shared_ptr<const gemm::Work> work_;
};

}  // namespace sluice::decoder
