#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/clock.hpp"

namespace sluice {

/// What messages between rank 0 and another rank, all in one direction, say of the two clocks: none arrives before it
/// was sent. Of many messages it keeps the quickest in each of up to 64 stretches of time, whatever the clocks drift
/// meanwhile. Allocates nothing.
class ClockBounds {
public:
    struct Bound {
        Instant at{};                                                           ///< On the other rank's clock.
        std::chrono::nanoseconds difference = std::chrono::nanoseconds::max();  ///< Received, by the receiver's clock,
                                                                                ///< − sent, by the sender's.
    };
    static constexpr std::size_t stretches = 64;

    /// `at`: when the other rank, by its clock, sent or received the message.
    void add(Instant at, std::chrono::nanoseconds difference) noexcept;

    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

    /// A stretch without a message has the largest difference that there is.
    [[nodiscard]] const std::array<Bound, stretches>& quickest() const noexcept { return quickest_; }

private:
    void widen() noexcept;
    [[nodiscard]] bool is_quicker(const Bound& a, const Bound& b) const noexcept;
    [[nodiscard]] double estimate_drift() const noexcept;

    std::array<Bound, stretches> quickest_{};
    std::chrono::nanoseconds length_ = std::chrono::milliseconds(1);  // of a stretch
    Instant first_{};
    double drift_ = 0;  // of `difference`, about
    std::uint64_t messages_ = 0;
};
static_assert(std::is_trivially_copyable_v<ClockBounds>);

}  // namespace sluice
