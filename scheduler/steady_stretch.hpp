#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/trace/trace.hpp"

namespace sluice {

/// From the first chunk's compute to the last written one, without the ends in which the pipeline fills and empties:
/// of n chunks about an eighth at each end, where there are 16 at least, from the start of a burst to that of another.
struct SteadyStretch {
    std::uint64_t items = 0;
    std::chrono::nanoseconds time{0};
    friend bool operator==(const SteadyStretch&, const SteadyStretch&) = default;

    [[nodiscard]] std::optional<double> rate() const noexcept;
};

/// Of the rank that writes; nullopt: `trace` is another one's, or it has written nothing. Pure.
[[nodiscard]] std::optional<SteadyStretch> find_steady_stretch(const RankTrace& trace);

}  // namespace sluice
