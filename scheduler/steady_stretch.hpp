#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/trace/trace.hpp"

namespace sluice {

/// What was done between the ends of a run, in which the pipeline fills and empties.
struct SteadyStretch {
    std::uint64_t items = 0;
    std::chrono::nanoseconds time{0};
    std::chrono::nanoseconds busy{0};  ///< Of a device: in `time`, with a chunk computed; never more.
    friend bool operator==(const SteadyStretch&, const SteadyStretch&) = default;

    [[nodiscard]] std::optional<double> rate() const noexcept;
};

/// From the end of one computed chunk to that of a later one, without the first and the last eighth of the device's
/// chunks. Devices' rates add up: when one of them completes a chunk says nothing about the others, and in what order
/// results are written says nothing about any. nullopt: it computed fewer than two chunks, or no time lies between.
[[nodiscard]] std::optional<SteadyStretch> find_steady_stretch(const DeviceTrace& device);

/// Of the writer: the time is that of the least-squares line through the times at which chunks were written, of n about
/// an eighth at each end left out; of fewer than 16 chunks it is from the first chunk's compute to the last written
/// one. nullopt: `trace` is another rank's, or it has written nothing. Pure.
[[nodiscard]] std::optional<SteadyStretch> find_written_stretch(const RankTrace& trace);

}  // namespace sluice
