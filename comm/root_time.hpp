#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "comm/clock_alignment.hpp"
#include "comm/clock_bounds.hpp"
#include "core/clock.hpp"

namespace sluice {

/// From a rank's clock to rank 0's, whatever the one drifts against the other: a straight line through two alignments.
class RootTime {
public:
    /// Of rank 0 itself.
    RootTime() = default;

    /// `last` was made after `first`.
    RootTime(const ClockOffset& first, const ClockOffset& last);

    [[nodiscard]] Instant operator()(Instant own) const { return own + offset_at(own); }

    /// What has to be added to the rank's clock at that time of it.
    [[nodiscard]] std::chrono::nanoseconds offset_at(Instant own) const;

    /// offset_at() is within ± this, provided that the clock drifts evenly: between the alignments as good as these,
    /// outside of them worse the farther away.
    [[nodiscard]] std::chrono::nanoseconds error_at(Instant own) const;

    /// How much more time goes by on rank 0's clock than on this one, as a share: 20e-6 is 20 ppm.
    [[nodiscard]] double drift() const noexcept { return drift_; }

private:
    ClockOffset first_{};
    ClockOffset last_{};
    double drift_ = 0;
    double drift_error_ = 0;
};

/// What messages say of times that RootTime gives.
struct Causality {
    std::uint64_t messages = 0;
    std::chrono::nanoseconds violation{0};  ///< The most by which one arrives before it was sent; 0: none does.
    std::optional<std::chrono::nanoseconds> bound{};  ///< No error can have been larger when the quickest messages
                                                      ///< travelled; nullopt: there were none in both directions.
};

/// Both are of that rank: what rank 0 has received from it, and it from rank 0.
[[nodiscard]] Causality check_causality(const RootTime& time, const ClockBounds& to_root, const ClockBounds& from_root);

}  // namespace sluice
