#include "kernels/cuda/gemm/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

constexpr std::uint32_t depth_of_deep = 4096;
constexpr std::size_t deep_tile = 0;  // of deep products only

double cycles(std::size_t number, std::uint64_t rounds, std::uint32_t depth) {
    constexpr std::uint64_t step_depth = 64;
    const GemmTile& tile = gemm_tiles[number];
    const double area = tile.rows * tile.columns;
    const double copied = tile.rows / tile.cluster_columns + tile.columns / tile.cluster_rows;
    const double step =
        std::max(area / (number == deep_tile ? 24 : 22.5), copied * (depth >= depth_of_deep ? 4.3 : 3.4));
    const auto times = static_cast<double>(rounds);
    const double ends = tile.ping_pong ? area / 3.4 : times * area / 6;
    return times * static_cast<double>(divide_up(depth, step_depth)) * step + ends;
}

/// Of a tile by mma.sync: its relative speed, and the depth that its beginning and end are worth.
struct Pace {
    double speed;
    double ends;
};

template <std::size_t count>
std::size_t choose(const std::array<GemmTile, count>& tiles, const std::array<Pace, count>& paces, std::uint32_t rows,
                   std::uint32_t columns, std::uint32_t depth, std::uint32_t multiprocessors) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
        const double area = tiles[i].rows * tiles[i].columns;
        const double time = static_cast<double>(gemm_rounds(tiles[i], rows, columns, multiprocessors)) * area *
                            (depth + paces[i].ends) / paces[i].speed;
        if (time < least) {
            best = i;
            least = time;
        }
    }
    return best;
}

}  // namespace

std::string describe(const GemmTile& tile) {
    std::string text = fmt::format("{}x{}", tile.rows, tile.columns);
    if (tile.cluster_rows * tile.cluster_columns > 1) {
        text += fmt::format(", clusters of {}x{}", tile.cluster_rows, tile.cluster_columns);
    }
    return text + (tile.ping_pong ? ", ping-pong" : "");
}

std::uint64_t gemm_rounds(const GemmTile& tile, std::uint32_t rows, std::uint32_t columns,
                          std::uint32_t multiprocessors) {
    const std::uint64_t cluster = std::uint64_t{tile.cluster_rows} * tile.cluster_columns;
    const std::uint64_t clusters = divide_up(rows, std::uint64_t{tile.rows} * tile.cluster_rows) *
                                   divide_up(columns, std::uint64_t{tile.columns} * tile.cluster_columns);
    return divide_up(clusters, std::max<std::uint64_t>(multiprocessors / cluster, 1));
}

std::size_t choose_gemm_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                             std::uint32_t multiprocessors, std::optional<std::size_t> previous) {
    constexpr double cycles_of_other_code = 8000;
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < gemm_tiles.size(); ++i) {
        if (i == deep_tile && depth < depth_of_deep) {
            continue;
        }
        const double time = cycles(i, gemm_rounds(gemm_tiles[i], rows, columns, multiprocessors), depth) -
                            (previous == i ? cycles_of_other_code : 0);
        if (time < least) {
            best = i;
            least = time;
        }
    }
    return best;
}

std::size_t choose_mma_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                            std::uint32_t multiprocessors) {
    constexpr std::array<Pace, mma_tiles.size()> paces{{{1.0, 256}, {0.95, 64}, {0.6, 64}}};
    return choose(mma_tiles, paces, rows, columns, depth, multiprocessors);
}

std::size_t choose_unaligned_tile(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                                  std::uint32_t multiprocessors) {
    constexpr std::array<Pace, unaligned_tiles.size()> paces{{{1.0, 64}, {0.55, 64}}};
    return choose(unaligned_tiles, paces, rows, columns, depth, multiprocessors);
}

std::uint32_t gemm_group_rows(const GemmTile& tile, std::uint32_t tile_rows, std::uint32_t clusters) {
    expects(tile_rows > 0 && clusters > 0, "gemm: a product without tiles has no groups");
    const double height = tile.rows * tile.cluster_rows;
    const double width = tile.columns * tile.cluster_columns;
    const auto square = static_cast<std::uint32_t>(std::lround(std::sqrt(clusters * width / height)));
    const std::uint32_t groups = static_cast<std::uint32_t>(divide_up(tile_rows, std::max(square, 1U)));
    return static_cast<std::uint32_t>(divide_up(tile_rows, groups));
}

}  // namespace sluice
