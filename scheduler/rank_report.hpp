#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/breakdown.hpp"
#include "scheduler/provenance.hpp"

namespace sluice {

/// Milestones as time since the common start of the run, on rank 0's clock; the clocks' error may make one negative.
struct RelativeMilestones {
    using Moment = std::optional<std::chrono::nanoseconds>;  ///< nullopt: did not happen.

    std::chrono::nanoseconds start{0};
    Moment driver_begin{};  ///< Of the GPUs' driver's start; on a host it does not happen.
    Moment driver_ready{};
    Moment buffers_ready{};
    Moment devices_ready{};
    Moment scatter_begin{};
    Moment scatter_end{};
    std::vector<Moment> first_compute{};  ///< One a device.
    Moment compute_end{};
    Moment delivered{};
    Moment written{};  ///< The last chunk, on rank 0.
    std::chrono::nanoseconds finish{0};
    friend bool operator==(const RelativeMilestones&, const RelativeMilestones&) = default;

    /// What the driver took.
    [[nodiscard]] Moment driver_time() const {
        return driver_begin && driver_ready ? Moment(*driver_ready - *driver_begin) : std::nullopt;
    }
};

/// How well a rank's times are turned into rank 0's.
struct RankClock {
    std::chrono::nanoseconds error{0};      ///< None of its times is off by more, unless its clock drifts unevenly.
    double drift = 0;                       ///< By how much rank 0's clock is faster, as a share: 20e-6 is 20 ppm.
    std::uint64_t messages = 0;             ///< Of those between both, of which none arrives before it was sent.
    std::chrono::nanoseconds violation{0};  ///< By how much one does, beyond what the alignments leave open: part of
                                            ///< `error`. 0: none does.
    std::optional<std::chrono::nanoseconds> bound{};  ///< However it drifts: none was off by more when the quickest
                                                      ///< messages travelled. nullopt: not known.
    friend bool operator==(const RankClock&, const RankClock&) = default;
};

/// What one chunk of so many items took on a device.
struct ChunkDurations {
    std::uint32_t items = 1;
    std::chrono::nanoseconds upload{0};
    std::chrono::nanoseconds compute{0};
    std::chrono::nanoseconds download{0};
    friend bool operator==(const ChunkDurations&, const ChunkDurations&) = default;
};

/// So many of a device's chunks at most, evenly chosen, tell what its chunks took.
inline constexpr std::size_t most_sampled_chunks = 256;

/// What a rank sends to rank 0 at the end of a run. Strings are escaped, hence valid UTF-8.
struct RankReport {
    int rank = 0;
    std::string host;
    RelativeMilestones milestones;
    Breakdown breakdown;
    std::vector<std::vector<ChunkDurations>> device_chunks{};  ///< Of each of its devices; none of one without a chunk.
    std::optional<Certification> certification{};              ///< Of all its devices: the sum, and the largest bound.
    std::vector<ModelCount> counts{};                          ///< Likewise.
    RankClock clock{};
    RankDetails facts{};
    friend bool operator==(const RankReport&, const RankReport&) = default;
};

/// What two devices or ranks did together.
[[nodiscard]] std::optional<Certification> together(const std::optional<Certification>& a,
                                                    const std::optional<Certification>& b);

/// `clock_offset` is what has to be added to this rank's clock to get rank 0's; `common_start` is on rank 0's clock.
[[nodiscard]] RankReport make_rank_report(const RankTrace& trace, Instant common_start,
                                          std::chrono::nanoseconds clock_offset);

/// For the way to rank 0, exact. decode() takes what encode() of the same program made; otherwise throws
/// ContractViolation.
[[nodiscard]] std::string encode(const RankReport& report);
[[nodiscard]] RankReport decode_rank_report(std::string_view text);

}  // namespace sluice
