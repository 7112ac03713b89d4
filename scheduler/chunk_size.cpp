#include "scheduler/chunk_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr double flop_per_chunk = 16e9;
constexpr std::uint64_t most_items = 4096;
constexpr std::uint64_t fewest_chunks = 64;
constexpr std::uint64_t fewest_full_chunks = 4;

}  // namespace

std::uint32_t choose_chunk_items(std::uint64_t items, double flop_per_item, std::uint32_t least) {
    expects(std::isfinite(flop_per_item) && flop_per_item > 0, "an item's work is positive and finite");
    const double by_work = flop_per_chunk / flop_per_item;
    std::uint64_t chosen = std::min(most_items, items / fewest_chunks);
    if (by_work < static_cast<double>(chosen)) {
        chosen = static_cast<std::uint64_t>(by_work);
    }
    chosen = std::max(chosen, std::min<std::uint64_t>(least, items / fewest_full_chunks));
    return static_cast<std::uint32_t>(std::bit_floor(std::max<std::uint64_t>(chosen, 1)));
}

std::uint32_t choose_depth(PipelineMode mode) {
    return mode == PipelineMode::serial ? 1 : 3;
}

std::uint32_t depth_with_lag(std::uint32_t depth, DepthBy chosen_by, std::uint32_t lag) {
    if (chosen_by == DepthBy::job && depth <= lag) {
        throw Error(ExitCode::configuration,
                    {.id = "E-CFG-011",
                     .where = "pipeline.depth",
                     .what = fmt::format("got {}, but the app's models hold {} chunks back: expected {} at least",
                                         depth, lag, lag + 1),
                     .hint = fmt::format("leave it out, or set it to {} or more", lag + 1)});
    }
    return chosen_by == DepthBy::program ? depth + lag : depth;
}

}  // namespace sluice
