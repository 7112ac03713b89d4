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

/// Device memory of one product of e4m3; not owned. All aligned to 16 bytes.
struct Fp8GemmMemory {
    const void* a;          ///< (rows, depth) e4m3
    const void* b;          ///< (columns, depth) e4m3
    const float* a_scales;  ///< (rows)
    const float* b_scales;  ///< (columns)
    const float* bias;      ///< (columns); none if null.
    const void* residual;   ///< (rows, columns) bf16; none if null. May be `out`.
    void* out;              ///< (rows, columns) bf16
    /// As in GemmMemory.
    const std::uint32_t* active = nullptr;
};

/// Tiles that have kernels.
inline constexpr std::array<GemmTile, 2> fp8_gemm_tiles{{
    {.rows = 128, .columns = 192, .cluster_rows = 2},
    {.rows = 128, .columns = 128},
}};

/// out[m][n] = activation(a_scales[m] * b_scales[n] * (sum over k of a[m][k] * b[n][k]) + bias[n]) + residual[m][n], of
/// e4m3 by wgmma, in bf16. GemmShape's columns are a multiple of 8, its depth of 16.
///
/// The tensor cores keep about 14 bits of sums of fp8. So they sum 128 products, and these sums are added up in fp32,
/// in ascending order of k: an element's bits depend neither on the number of rows, nor on its row, nor on the tile.
class Fp8Gemm {
public:
    /// `options` as for Gemm: the tile is an index in fp8_gemm_tiles. Throws ContractViolation if the shape or its
    /// alignment is not supported, or the GPU or the build has no wgmma; Error if CUDA fails.
    Fp8Gemm(const GemmShape& shape, const Fp8GemmMemory& memory, const GemmOptions& options = {});

    /// Enqueues the product; allocates nothing. Throws Error as check_cuda() if the launch fails.
    void enqueue(cudaStream_t stream) const;

    /// How it is computed: "wgmma e4m3 128x192, clusters of 2x1".
    [[nodiscard]] std::string path() const;

private:
    std::size_t tile_number_ = 0;
    std::shared_ptr<const gemm::Work> work_;  // null for no rows
};

}  // namespace sluice
