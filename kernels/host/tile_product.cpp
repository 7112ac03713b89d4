#include "kernels/host/tile_product.hpp"

#include <asm/prctl.h>
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.hpp"

#define SLUICE_WITH_TILES [[gnu::target("arch=x86-64-v4,avx512bf16,amx-tile,amx-bf16")]]

namespace sluice {
namespace {

constexpr std::size_t tile_outputs = 16;
constexpr std::size_t row_bytes = tile_panel * 2 * sizeof(std::uint16_t);  // of a pair of inputs in a panel
constexpr int last_register = 8;

// Linux, Documentation/arch/x86/xstate.rst: "Dynamically enabled features".
constexpr unsigned long supported_features = 0x1021;  // ARCH_GET_XCOMP_SUPP
constexpr unsigned long request_feature = 0x1023;     // ARCH_REQ_XCOMP_PERM
constexpr unsigned long tile_data = 18;

/// CPUID, leaf 7: AMX, AMX-BF16 and AVX512_BF16.
bool cpu_has_tiles() {
    constexpr unsigned leaf = 7;
    constexpr unsigned amx_bits = 1U << 22U | 1U << 24U;
    constexpr unsigned avx512_bf16_bit = 1U << 5U;
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    const bool has_amx = __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & amx_bits) == amx_bits;
    return has_amx && __get_cpuid_count(leaf, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & avx512_bf16_bit) != 0;
}

/// The operand of LDTILECFG: all registers hold 16 rows of 64 bytes.
struct alignas(64) TileShapes {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::array<std::uint8_t, 14> reserved{};
    std::array<std::uint16_t, 16> bytes{};
    std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileShapes) == 64);

constexpr TileShapes whole_tiles() {
    TileShapes shapes;
    for (int i = 0; i < last_register; ++i) {
        shapes.bytes.at(i) = 64;
        shapes.rows.at(i) = tile_rows;
    }
    return shapes;
}
constexpr TileShapes shapes = whole_tiles();

/// What multiplies some rows by one panel.
struct Block {
    std::size_t depth;  ///< A multiple of tile_depth.
    const std::uint16_t* in;
    std::size_t in_bytes;          ///< From one row to the next.
    const std::uint16_t* weights;  ///< (depth / 2, tile_panel, 2)
    const float* bias;             ///< (tile_panel)
    float* out;
    std::size_t out_bytes;
    const char* next;        ///< Weights that the next panel begins with, this block's share of them.
    std::size_t next_lines;  ///< To fetch for each tile_depth of inputs.
};

constexpr std::size_t cache_line = 64;
constexpr std::size_t step_lines = tile_depth / 2 * row_bytes / cache_line;  // of a panel

/// Into the L2 cache: without, a core waits for memory at each panel's first rows.
SLUICE_WITH_TILES inline const char* fetch(const char* from, std::size_t lines) {
    for (std::size_t i = 0; i < lines; ++i, from += cache_line) {
        _mm_prefetch(from, _MM_HINT_T1);
    }
    return from;
}

/// Two tiles of rows by two of outputs: of eight registers, four hold sums.
SLUICE_WITH_TILES void multiply_32_rows(const Block& block) {
    const std::uint16_t* upper = block.in;
    const std::uint16_t* lower = upper + tile_rows * (block.in_bytes / sizeof(std::uint16_t));
    _tile_loadd(0, block.bias, 0);
    _tile_loadd(1, block.bias + tile_outputs, 0);
    _tile_loadd(2, block.bias, 0);
    _tile_loadd(3, block.bias + tile_outputs, 0);
    const std::uint16_t* weights = block.weights;
    const char* next = block.next;
    for (std::size_t k = 0; k < block.depth; k += tile_depth) {
        next = fetch(next, block.next_lines);
        _tile_loadd(4, upper, block.in_bytes);
        _tile_loadd(6, weights, row_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, weights + 2 * tile_outputs, row_bytes);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, lower, block.in_bytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        upper += tile_depth;
        lower += tile_depth;
        weights += tile_depth * tile_panel;
    }
    float* const lower_out = block.out + tile_rows * (block.out_bytes / sizeof(float));
    _tile_stored(0, block.out, block.out_bytes);
    _tile_stored(1, block.out + tile_outputs, block.out_bytes);
    _tile_stored(2, lower_out, block.out_bytes);
    _tile_stored(3, lower_out + tile_outputs, block.out_bytes);
}

SLUICE_WITH_TILES void multiply_16_rows(const Block& block) {
    const std::uint16_t* in = block.in;
    _tile_loadd(0, block.bias, 0);
    _tile_loadd(1, block.bias + tile_outputs, 0);
    const std::uint16_t* weights = block.weights;
    const char* next = block.next;
    for (std::size_t k = 0; k < block.depth; k += tile_depth) {
        next = fetch(next, block.next_lines);
        _tile_loadd(4, in, block.in_bytes);
        _tile_loadd(6, weights, row_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, weights + 2 * tile_outputs, row_bytes);
        _tile_dpbf16ps(1, 4, 7);
        in += tile_depth;
        weights += tile_depth * tile_panel;
    }
    _tile_stored(0, block.out, block.out_bytes);
    _tile_stored(1, block.out + tile_outputs, block.out_bytes);
}

SLUICE_WITH_TILES void multiply(const Block& block, std::size_t rows) {
    rows > tile_rows ? multiply_32_rows(block) : multiply_16_rows(block);
}

SLUICE_WITH_TILES void relu_all(std::size_t count, float* x) {
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = x[i] < 0 ? 0.0F : x[i];  // NaN stays NaN
    }
}

/// Whole registers of 32 rows, of which some rows or columns are not wanted.
struct alignas(64) Scratch {
    std::array<float, 2 * tile_rows * tile_panel> sums;
};

SLUICE_WITH_TILES void multiply_all(const TileMatrix& matrix, std::size_t rows, const std::uint16_t* in,
                                    std::size_t stride, bool relu, float* out) {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // GCC does not know what _tile_loadd reads
    _tile_loadconfig(&shapes);
    Scratch scratch;
    const std::size_t groups = (rows + 2 * tile_rows - 1) / (2 * tile_rows);
    const std::size_t next_lines = groups == 1 ? 0 : (step_lines + groups - 1) / groups;
    const std::size_t share = matrix.inputs / tile_depth * next_lines * cache_line;
    for (std::size_t first = 0; first < matrix.outputs; first += tile_panel) {
        const std::size_t columns = std::min(tile_panel, matrix.outputs - first);
        for (std::size_t row = 0; row < rows; row += 2 * tile_rows) {
            const std::size_t count = std::min(2 * tile_rows, rows - row);
            float* const to = out + row * matrix.outputs + first;
            const auto* const panel = reinterpret_cast<const char*>(matrix.weights + first * matrix.inputs);
            const std::size_t group = row / (2 * tile_rows);
            const bool is_whole = columns == tile_panel && count % tile_rows == 0;
            multiply({.depth = matrix.inputs,
                      .in = in + row * stride,
                      .in_bytes = stride * sizeof(std::uint16_t),
                      .weights = matrix.weights + first * matrix.inputs,
                      .bias = matrix.bias + first,
                      .out = is_whole ? to : scratch.sums.data(),
                      .out_bytes = sizeof(float) * (is_whole ? matrix.outputs : tile_panel),
                      .next = panel + tile_panel * matrix.inputs * sizeof(std::uint16_t) + group * share,
                      .next_lines = next_lines},
                     count);
            for (std::size_t r = 0; r < count; ++r) {
                float* const row_to = to + r * matrix.outputs;
                if (!is_whole) {
                    std::copy_n(&scratch.sums[r * tile_panel], columns, row_to);
                }
                if (relu) {
                    relu_all(columns, row_to);
                }
            }
        }
    }
    _tile_release();
}

SLUICE_WITH_TILES void round_all(std::size_t count, const float* from, std::uint16_t* to) {
    constexpr std::size_t lanes = 32;
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + lanes / 2), _mm512_loadu_ps(from + i));
        std::memcpy(to + i, &rounded, sizeof rounded);
    }
    for (; i < count; ++i) {
        to[i] = to_bf16(from[i]);
    }
}

}  // namespace

bool has_tiles() {
    __builtin_cpu_init();
    std::uint64_t features = 0;
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
    return has_avx512 && cpu_has_tiles() && ::syscall(SYS_arch_prctl, supported_features, &features) == 0 &&
           (features >> tile_data & 1U) != 0;
}

void enable_tiles() {
    if (::syscall(SYS_arch_prctl, request_feature, tile_data) != 0) {
        throw Error(ExitCode::unavailable,
                    {.id = "E-HWL-147",
                     .where = "run.precision",
                     .what = std::string("the kernel lets this process use no AMX: ") + std::strerror(errno),
                     .hint = "set run.precision = \"fp32\""});
    }
}

std::uint16_t to_bf16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    constexpr std::uint32_t quiet = 0x0040;
    if (std::isnan(x)) {
        return static_cast<std::uint16_t>(bits >> 16U | quiet);
    }
    return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

float from_bf16(std::uint16_t x) {
    return std::bit_cast<float>(std::uint32_t{x} << 16U);
}

void round_to_bf16(std::size_t count, const float* from, std::uint16_t* to) {
    round_all(count, from, to);
}

void pack_tile_panel(std::size_t inputs, std::span<const float> rows, std::uint16_t* to) {
    const std::size_t count = rows.size() / inputs;
    for (std::size_t k = 0; k < padded_depth(inputs); k += 2) {
        for (std::size_t c = 0; c < tile_panel; ++c) {
            for (std::size_t i = k; i < k + 2; ++i) {
                *to++ = c < count && i < inputs ? to_bf16(rows[c * inputs + i]) : std::uint16_t{0};
            }
        }
    }
}

void multiply_tiles(const TileMatrix& matrix, std::size_t rows, const std::uint16_t* in, std::size_t stride, bool relu,
                    float* out) {
    expects(matrix.inputs % tile_depth == 0, "tiles: inputs that are not padded");
    multiply_all(matrix, rows, in, stride, relu, out);
}

}  // namespace sluice
