#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/clock.hpp"

namespace sluice {

/// Bounds on the offset of rank 0's and another rank's clock from messages in one direction: none arrives before it was
/// sent. Keeps the fastest message, corrected for drift, in each of up to 64 time intervals. Allocates nothing.
class ClockBounds {
public:
    struct Bound {
        Instant at{};  ///< On the other rank's clock.
        /// Receive time, by the receiver's clock, − send time, by the sender's.
        std::chrono::nanoseconds difference = std::chrono::nanoseconds::max();
    };
    static constexpr std::size_t stretches = 64;

    /// `at`: when the other rank sent or received the message, by its clock.
    void add(Instant at, std::chrono::nanoseconds difference) noexcept;

    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

    /// An interval without a message has the largest possible difference.
    [[nodiscard]] const std::array<Bound, stretches>& quickest() const noexcept { return quickest_; }

private:
    void widen() noexcept;
    [[nodiscard]] bool is_quicker(const Bound& a, const Bound& b) const noexcept;
    [[nodiscard]] double estimate_drift() const noexcept;

    std::array<Bound, stretches> quickest_{};
    std::chrono::nanoseconds length_ = std::chrono::milliseconds(1);  // of an interval
    Instant first_{};
    double drift_ = 0;  // of `difference`, estimated
    std::uint64_t messages_ = 0;
};
static_assert(std::is_trivially_copyable_v<ClockBounds>);

}  // namespace sluice
