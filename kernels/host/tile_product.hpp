#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

// Products of bf16 by AMX, the matrix instructions of Intel's Xeons from Sapphire Rapids on: 16 rows by 16 outputs at a
// time, in fp32 sums that begin with the bias and take 32 inputs with each instruction, in their order. So a result
// depends neither on the number of rows nor on the loops around. Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2, TDPBF16PS: subnormal numbers count as zero.

inline constexpr std::size_t tile_rows = 16;
inline constexpr std::size_t tile_depth = 32;  ///< Inputs that an instruction takes.
inline constexpr std::size_t tile_panel = 32;  ///< Outputs in a panel, whose weights are contiguous.

/// `inputs` and the zeros behind them, up to a multiple of tile_depth.
[[nodiscard]] constexpr std::size_t padded_depth(std::size_t inputs) {
    return (inputs + tile_depth - 1) / tile_depth * tile_depth;
}

/// Rows that products of `rows` rows read.
[[nodiscard]] constexpr std::size_t padded_rows(std::size_t rows) {
    return (rows + tile_rows - 1) / tile_rows * tile_rows;
}

/// A matrix and its bias in the products' layout; not owned.
struct TileMatrix {
    std::size_t inputs;  ///< A multiple of tile_depth.
    std::size_t outputs;
    const std::uint16_t* weights;  ///< (panels, inputs / 2, tile_panel, 2), bf16, zeros beyond the outputs.
    const float* bias;             ///< (panels, tile_panel).
};

/// Whether this processor has the instructions, and its kernel lets programs ask for them.
[[nodiscard]] bool has_tiles();

/// Asks the kernel for this process's use of them. Throws Error (unavailable, E-HWL-147) if it refuses.
void enable_tiles();

/// The nearest bf16; of two, the even one.
[[nodiscard]] std::uint16_t to_bf16(float x);
[[nodiscard]] float from_bf16(std::uint16_t x);

/// The same for `count` numbers.
void round_to_bf16(std::size_t count, const float* from, std::uint16_t* to);

/// Packs at most tile_panel rows of weights, (rows, inputs), as one panel of padded_depth(inputs).
void pack_tile_panel(std::size_t inputs, std::span<const float> rows, std::uint16_t* to);

/// out (rows, outputs) = in * weights + bias, then max(0, .) if `relu`. in: (padded_rows(rows), matrix.inputs), bf16, a
/// row every `stride`; rows may overlap. Requires enable_tiles().
void multiply_tiles(const TileMatrix& matrix, std::size_t rows, const std::uint16_t* in, std::size_t stride, bool relu,
                    float* out);

}  // namespace sluice
