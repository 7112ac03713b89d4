#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/device/gpu_code.hpp"
#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/gemm/tile.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

struct GemmOptions {
    /// Index in gemm_tiles, by mma.sync in mma_tiles or unaligned_tiles; nullopt: choose_gemm_tile() and the like.
    std::optional<std::size_t> tile{};
    bool chained = false;                        ///< May start while the previous kernel in the stream ends.
    std::uint32_t multiprocessors = 0;           ///< At most so many are used, and the tile is chosen for them; 0: all.
    std::optional<std::size_t> previous_tile{};  ///< Of the product before it in the stream, if by wgmma.
    /// nullopt: the fastest that the current device and the build have. Unaligned products use mma.sync.
    std::optional<MatrixInstructions> instructions{};
};

namespace gemm {
class Work;
}

/// A product of two matrices of bf16 or fp16 on the tensor cores of the current device, summed up in fp32, by wgmma or
/// mma.sync: see MatrixInstructions. The fast kernels copy 16 bytes at a time: columns and depth are multiples of 8,
/// and all memory is aligned to 16 bytes. Anything else uses a slower kernel by mma.sync.
///
/// An element's products are added up 16 at a time, in ascending order of k, whatever the tile: its bits depend neither
/// on the number of rows, nor on its row, nor on the tile. Values are rounded once, at the end. wgmma and mma.sync may
/// round sums differently; aligned or not, mma.sync gives the same bits.
class Gemm {
public:
    /// Throws ContractViolation if the shape or the precision is not supported, or the build has no code for the
    /// instructions; Error if CUDA fails.
    Gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory, const GemmOptions& options = {});

    /// Enqueues the product; allocates nothing. Throws Error as check_cuda() if the launch fails.
    void enqueue(cudaStream_t stream) const;

    [[nodiscard]] const GemmTile& tile() const noexcept { return tile_; }
    /// Its index, as in GemmOptions::tile.
    [[nodiscard]] std::size_t tile_number() const noexcept { return tile_number_; }
    /// How it is computed: "wgmma 128x192, clusters of 2x1, ping-pong", "mma.sync 128x128", "mma.sync 64x64,
    /// unaligned".
    [[nodiscard]] std::string path() const;

private:
    MatrixInstructions instructions_;
    bool unaligned_;
    std::size_t tile_number_ = 0;
    GemmTile tile_{};
    std::shared_ptr<const gemm::Work> work_;  // null for no rows
};

}  // namespace sluice
