// 3, vectors: eight rows by 32 columns of the result stay in registers for 256 products; a panel of b is copied to
// where it lies beside itself. Two loads and eight broadcasts serve 16 fused multiply-adds of 16 elements with AVX-512;
// without it, fewer elements an instruction.
#include <algorithm>
#include <array>
#include <vector>

#include "core/machine/simd.hpp"
#include "tools/bench/ladder/host/rungs.hpp"

namespace sluice::ladder::host {
namespace {

constexpr std::size_t rows = 8;
constexpr std::size_t width = 32;
constexpr std::size_t depth = 256;

// Only functions compiled for these vectors take them; GCC warns about their template.
#pragma GCC diagnostic ignored "-Wpsabi"

struct Tile {
    std::array<const float*, rows> a;  // first factors of each row; rows past the end repeat the last one
    const float* panel;                // (count, width)
    std::size_t count;
};

/// sums (rows, width) += products of a tile.
template <int lanes>
[[gnu::always_inline]] inline void add_products(const Tile& tile, float* sums) {
    using V = Pack<lanes>;
    constexpr std::size_t packs = width / lanes;
    typename V::Type kept[rows][packs];
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t p = 0; p < packs; ++p) {
            V::load(kept[i][p], sums + i * width + p * lanes);
        }
    }
    for (std::size_t k = 0; k < tile.count; ++k) {
        typename V::Type b[packs];
        for (std::size_t p = 0; p < packs; ++p) {
            V::load(b[p], tile.panel + k * width + p * lanes);
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t p = 0; p < packs; ++p) {
                kept[i][p] += tile.a[i][k] * b[p];
            }
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t p = 0; p < packs; ++p) {
            V::store(sums + i * width + p * lanes, kept[i][p]);
        }
    }
}

[[gnu::target("arch=x86-64-v4")]] void add_products_v4(const Tile& tile, float* sums) {
    add_products<16>(tile, sums);
}
[[gnu::target("arch=x86-64-v3")]] void add_products_v3(const Tile& tile, float* sums) {
    add_products<8>(tile, sums);
}
void add_products_plain(const Tile& tile, float* sums) {
    add_products<4>(tile, sums);
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
