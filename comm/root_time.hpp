#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "comm/clock_alignment.hpp"
#include "comm/clock_bounds.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Converts a rank's clock to rank 0's, including drift: a straight line through two alignments.
class RootTime {
public:
    /// For rank 0 itself.
    RootTime() = default;

    /// `last` was made after `first`.
    RootTime(const ClockOffset& first, const ClockOffset& last);

    [[nodiscard]] Instant operator()(Instant own) const { return own + offset_at(own); }

    /// To be added to the rank's clock when it shows `own`.
    [[nodiscard]] std::chrono::nanoseconds offset_at(Instant own) const;

    /// offset_at() is within ± this if the clock drifts evenly: as accurate as the alignments between them, less with
    /// the distance outside.
    [[nodiscard]] std::chrono::nanoseconds error_at(Instant own) const;

    /// Relative excess speed of rank 0's clock over this one: 20e-6 is 20 ppm.
    [[nodiscard]] double drift() const noexcept { return drift_; }

private:
    ClockOffset first_{};
    ClockOffset last_{};
    double drift_ = 0;
    double drift_error_ = 0;
};

/// Check of RootTime's times by messages.
struct Causality {
    std::uint64_t messages = 0;
    std::chrono::nanoseconds violation{0};  ///< Most by which a message arrives before it was sent; 0: none does.
    /// Bound on the error at the times of the fastest messages; nullopt: no messages in both directions.
    std::optional<std::chrono::nanoseconds> bound{};
};

/// Bounds of the rank's messages that rank 0 received (`to_root`) and of rank 0's that it received (`from_root`).
[[nodiscard]] Causality check_causality(const RootTime& time, const ClockBounds& to_root, const ClockBounds& from_root);

}  // namespace sluice
