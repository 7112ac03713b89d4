#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/trace/trace.hpp"

namespace sluice {

/// Work done in the middle of a run, without the ends in which the pipeline fills and drains.
struct SteadyStretch {
    std::uint64_t items = 0;
    std::chrono::nanoseconds time{0};
    std::chrono::nanoseconds busy{0};  ///< Of a device: part of `time` spent computing.
    friend bool operator==(const SteadyStretch&, const SteadyStretch&) = default;

    [[nodiscard]] std::optional<double> rate() const noexcept;
};

/// From the end of one computed chunk to that of a later one, without the first and last eighth of the device's chunks.
/// Devices' rates add up: completions are independent of other devices and of the order of writing. nullopt: fewer than
/// two chunks computed, or no time between them.
[[nodiscard]] std::optional<SteadyStretch> find_steady_stretch(const DeviceTrace& device);

/// When the last chunk was written, and committed if a commit was due. nullopt: `trace` contains neither. Pure.
[[nodiscard]] std::optional<Instant> last_written(const RankTrace& trace);

/// Of the writer: by the least-squares line through the times at which chunks were written, without about an eighth of
/// them at each end; for fewer than 16 chunks, from the start of the first compute until last_written().
/// nullopt: `trace` contains no writes, as on ranks other than 0. Pure.
[[nodiscard]] std::optional<SteadyStretch> find_written_stretch(const RankTrace& trace);

}  // namespace sluice
