// 3, vectors: eight rows by 32 columns of the result stay in registers for 256 products; a panel of b is copied to
// where it lies beside itself. Two loads and eight broadcasts serve 16 fused multiply-adds of 16 elements with AVX-512;
// without it, fewer elements an instruction.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/machine/simd.hpp"
#include "tools/bench/ladder/host/rungs.hpp"

namespace sluice::ladder::host {
namespace {

constexpr std::size_t rows = 8;
constexpr std::size_t lanes = 16;
constexpr std::size_t width = 2 * lanes;
constexpr std::size_t depth = 256;

using Vector = float __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));

struct Tile {
    std::array<const float*, rows> a;  // the row's first factor; a row below the last is the last once more
    const float* panel;                // (count, width)
    std::size_t count;
};

/// sums (rows, width) += products of a tile.
[[gnu::always_inline]] inline void add_products(const Tile& tile, float* sums) {
    Vector left[rows];
    Vector right[rows];
    for (std::size_t i = 0; i < rows; ++i) {
        std::memcpy(&left[i], sums + i * width, sizeof(Vector));
        std::memcpy(&right[i], sums + i * width + lanes, sizeof(Vector));
    }
    for (std::size_t k = 0; k < tile.count; ++k) {
        Vector b_left;
        Vector b_right;
        std::memcpy(&b_left, tile.panel + k * width, sizeof b_left);
        std::memcpy(&b_right, tile.panel + k * width + lanes, sizeof b_right);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < rows; ++i) {
            left[i] += tile.a[i][k] * b_left;
            right[i] += tile.a[i][k] * b_right;
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        std::memcpy(sums + i * width, &left[i], sizeof(Vector));
        std::memcpy(sums + i * width + lanes, &right[i], sizeof(Vector));
    }
}

[[gnu::target("arch=x86-64-v4")]] void add_products_v4(const Tile& tile, float* sums) {
    add_products(tile, sums);
}
[[gnu::target("arch=x86-64-v3")]] void add_products_v3(const Tile& tile, float* sums) {
    add_products(tile, sums);
}
void add_products_plain(const Tile& tile, float* sums) {
    add_products(tile, sums);
}

}  // namespace

void multiply_vectors(const Matrices& x) {
    static auto* const add_products_here = for_this_cpu(&add_products_v4, &add_products_v3, &add_products_plain);
    std::vector<float> panel(depth * width);
    std::array<float, rows * width> sums{};
    std::fill_n(x.out, x.m * x.n, 0.0F);
    for (std::size_t first_k = 0; first_k < x.k; first_k += depth) {
        const std::size_t count = std::min(depth, x.k - first_k);
        for (std::size_t first = 0; first < x.n; first += width) {
            const std::size_t columns = std::min(width, x.n - first);
            for (std::size_t k = 0; k < count; ++k) {
                std::copy_n(x.b + (first_k + k) * x.n + first, columns, panel.data() + k * width);
                std::fill(panel.data() + k * width + columns, panel.data() + (k + 1) * width, 0.0F);
            }
            for (std::size_t row = 0; row < x.m; row += rows) {
                const std::size_t present = std::min(rows, x.m - row);
                Tile tile{.a = {}, .panel = panel.data(), .count = count};
                for (std::size_t i = 0; i < rows; ++i) {
                    tile.a[i] = x.a + (row + std::min(i, present - 1)) * x.k + first_k;
                }
                sums.fill(0);
                add_products_here(tile, sums.data());
                for (std::size_t i = 0; i < present; ++i) {
                    float* const to = x.out + (row + i) * x.n + first;
                    for (std::size_t column = 0; column < columns; ++column) {
                        to[column] += sums[i * width + column];
                    }
                }
            }
        }
    }
}

}  // namespace sluice::ladder::host
