#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// How often each duration was seen, in steps of at most a quarter. One thread adds, anyone reads, without a lock.
class DurationHistogram {
public:
    void add(std::uint64_t nanoseconds) noexcept;

    /// In nanoseconds: 99 % of all durations so far are not longer. At most a quarter more than the shortest of which
    /// that is true; the longest one's while they are fewer than 100. 0: there are none.
    [[nodiscard]] std::uint64_t p99() const noexcept;

private:
    static constexpr std::size_t buckets = 252;  // four a power of two
    std::array<std::atomic<std::uint32_t>, buckets> counts_{};
};

}  // namespace sluice
