#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/trace/trace.hpp"
#include "scheduler/breakdown.hpp"
#include "scheduler/provenance.hpp"

namespace sluice {

/// Milestones as time since the run's common start, on rank 0's clock; clock error may make one negative.
struct RelativeMilestones {
    using Moment = std::optional<std::chrono::nanoseconds>;  ///< nullopt: did not happen.

    std::chrono::nanoseconds start{0};
    Moment driver_begin{};  ///< Start of the GPU driver's initialisation; none on a host.
    Moment driver_ready{};
    Moment buffers_ready{};
    Moment devices_ready{};
    Moment scatter_begin{};
    Moment scatter_end{};
    std::vector<Moment> first_compute{};  ///< One per device.
    std::vector<Moment> last_compute{};   ///< Its end; likewise.
    Moment compute_end{};
    Moment delivered{};
    Moment written{};  ///< Last chunk written, on rank 0.
    std::chrono::nanoseconds finish{0};
    friend bool operator==(const RelativeMilestones&, const RelativeMilestones&) = default;

    /// Initialisation time of the GPU driver.
    [[nodiscard]] Moment driver_time() const {
        return driver_begin && driver_ready ? Moment(*driver_ready - *driver_begin) : std::nullopt;
    }
};

/// In the same time.
struct RelativeInterval {
    std::chrono::nanoseconds begin{0};
    std::chrono::nanoseconds end{0};
    friend bool operator==(const RelativeInterval&, const RelativeInterval&) = default;
};

/// Accuracy of converting a rank's times to rank 0's clock.
struct RankClock {
    std::chrono::nanoseconds error{0};  ///< Bound on the error of its times if its clock drifts evenly.
    double drift = 0;                   ///< Relative excess speed of rank 0's clock: 20e-6 is 20 ppm.
    std::uint64_t messages = 0;  ///< Messages between the two ranks that were checked for arrival before sending.
    /// Most by which one arrives too early, beyond the alignments' uncertainty: part of `error`. 0: none.
    std::chrono::nanoseconds violation{0};
    /// Bound for any drift, at the times of the fastest messages; nullopt: unknown.
    std::optional<std::chrono::nanoseconds> bound{};
    friend bool operator==(const RankClock&, const RankClock&) = default;
};

/// Times of one chunk of `items` on a device.
struct ChunkDurations {
    std::uint32_t items = 1;
    std::optional<std::chrono::nanoseconds> copy{};  ///< Of its items, by its driver; nullopt: they came as messages.
    std::chrono::nanoseconds upload{0};
    std::chrono::nanoseconds compute{0};
    std::chrono::nanoseconds download{0};
    friend bool operator==(const ChunkDurations&, const ChunkDurations&) = default;
};

/// Most chunks sampled per device, evenly spaced.
inline constexpr std::size_t most_sampled_chunks = 256;

/// What a rank sends to rank 0 at the end of a run. Strings are escaped, hence valid UTF-8.
struct RankReport {
    int rank = 0;
    std::string host;
    RelativeMilestones milestones;
    Breakdown breakdown;
    /// Without suspensions. One entry per device; empty for a device without chunks.
    std::vector<std::vector<ChunkDurations>> device_chunks{};
    std::optional<Certification> certification{};  ///< Over its devices: the sum, and the largest bound.
    std::vector<ModelCount> counts{};              ///< Sums over its devices.
    RankClock clock{};
    RankDetails facts{};
    std::vector<RelativeInterval> suspended{};  ///< When its process did not run, in order; its milestones include it.
    friend bool operator==(const RankReport&, const RankReport&) = default;
};

/// How long `rank` was suspended in [from, to].
[[nodiscard]] std::chrono::nanoseconds suspended_between(const RankReport& rank, std::chrono::nanoseconds from,
                                                         std::chrono::nanoseconds to);

/// Adds the counts of another device or rank.
void add_counts(std::vector<ModelCount>& all, std::span<const ModelCount> more);

/// Combines the certifications of two devices or ranks.
[[nodiscard]] std::optional<Certification> together(const std::optional<Certification>& a,
                                                    const std::optional<Certification>& b);

/// rank 0's clock = this rank's clock + `clock_offset`; `common_start` is on rank 0's clock.
[[nodiscard]] RankReport make_rank_report(const RankTrace& trace, Instant common_start,
                                          std::chrono::nanoseconds clock_offset);

/// For rank 0 a send ends when MPI has the bytes, which may still be buffered: where a rank received for longer than
/// rank 0 sent, its receive time becomes the link's, and rank 0's scatter was busy for at least the longest one.
void count_receipts(std::span<RankReport> ranks, std::span<LinkTraffic> links);

/// For transfer to rank 0, exact. decode_rank_report() takes what encode() of the same program returned; otherwise
/// throws ContractViolation.
[[nodiscard]] std::string encode(const RankReport& report);
[[nodiscard]] RankReport decode_rank_report(std::string_view text);

}  // namespace sluice
