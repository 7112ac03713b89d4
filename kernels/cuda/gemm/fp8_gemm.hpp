#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice {

/// How products of e4m3 are added up. The tensor cores keep about 14 bits of such sums, and cut off the rest.
enum class Fp8Sums : std::uint8_t {
    promoted,  ///< Those of 128 products each are added up in fp32, in ascending order of k.
    /// All by the tensor cores, as fast as they are. That errs by some 1e-3 of a sum whose products have both signs,
    /// where rounding to e4m3 errs by 4e-2.
    tensor,
};

/// Device memory of one product of e4m3; not owned. All but `scale` and `code_scale` aligned to 16 bytes.
struct Fp8GemmMemory {
    const void* a;                    ///< (rows, depth) e4m3
    const void* b;                    ///< (columns, depth) e4m3
    const float* a_scales = nullptr;  ///< (rows); null: 1. Required where sums are promoted.
    const float* b_scales = nullptr;  ///< (columns); null: 1. For promoted sums only, and required there.
    const float* scale = nullptr;     ///< One, of all sums; null: 1.
    const float* bias;                ///< (columns); none if null.
    const void* residual;             ///< (rows, columns) bf16; none if null. May be `out`.
    void* out;                        ///< (rows, columns) bf16, or e4m3; if gated (rows, columns / 2) bf16
    /// Where `out` is e4m3, what its values are multiplied by before they are rounded; beyond 448 they become 448. They
    /// are in the order of e4m3_column(). Null: `out` is bf16. For GELU of the tensor cores' sums, without a residual,
    /// only. GemmShape's columns are a multiple of 64.
    const float* code_scale = nullptr;
    /// As in GemmMemory.
    const std::uint32_t* active = nullptr;
};

/// The column of which a row of results in e4m3 has a value at `place`: those that a thread has are together. A product
/// of such rows takes weights in that order.
[[nodiscard]] constexpr std::uint32_t e4m3_column(std::uint32_t place) noexcept {
    const std::uint32_t thread = place / 16 % 4;
    const std::uint32_t of_thread = place % 16;
    return place / 64 * 64 + of_thread / 2 * 8 + thread * 2 + of_thread % 2;
}

/// Tiles that have kernels: those in ping-pong for sums of the tensor cores, the others for promoted ones.
inline constexpr std::array<GemmTile, 4> fp8_gemm_tiles{{
    {.rows = 128, .columns = 192, .cluster_rows = 2},
    {.rows = 128, .columns = 128},
    {.rows = 128, .columns = 192, .cluster_rows = 2, .ping_pong = true},
    {.rows = 128, .columns = 128, .ping_pong = true},
}};

[[nodiscard]] constexpr Fp8Sums sums_of(const GemmTile& tile) noexcept {
    return tile.ping_pong ? Fp8Sums::tensor : Fp8Sums::promoted;
}

/// out[m][n] = activation(a_scales[m] * b_scales[n] * scale * (sum over k of a[m][k] * b[n][k]) + bias[n]) +
/// residual[m][n], of e4m3 by wgmma. GemmShape's columns are a multiple of 8, its depth of 16; it is gated with the
/// tensor cores' sums only.
///
/// An element's bits depend neither on the number of rows, nor on its row, nor, of the same sums, on the tile.
class Fp8Gemm {
public:
    /// `options` as for Gemm: the tile is an index in fp8_gemm_tiles, of one for such sums. Throws ContractViolation if
    /// the shape or its alignment is not supported, or the GPU or the build has no wgmma; Error if CUDA fails.
    Fp8Gemm(const GemmShape& shape, Fp8Sums sums, const Fp8GemmMemory& memory, const GemmOptions& options = {});

    /// Enqueues the product; allocates nothing. Throws Error as check_cuda() if the launch fails.
    void enqueue(cudaStream_t stream) const;

    /// How it is computed: "wgmma e4m3 128x192, clusters of 2x1, ping-pong".
    [[nodiscard]] std::string path() const;

private:
    std::size_t tile_number_ = 0;
    std::shared_ptr<const gemm::Work> work_;  // null for no rows
};

}  // namespace sluice
