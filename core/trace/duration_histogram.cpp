#include "core/trace/duration_histogram.hpp"

#include <bit>

namespace sluice {
namespace {

constexpr unsigned fraction_bits = 2;
constexpr std::uint64_t parts = std::uint64_t{1} << fraction_bits;
constexpr std::uint64_t hundred = 100;

std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < parts) {
        return value;
    }
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - fraction_bits;
    return shift * parts + (value >> shift);
}

/// The largest value in it.
std::uint64_t end_of(std::size_t bucket) noexcept {
    if (bucket < parts) {
        return bucket;
    }
    const std::size_t shift = bucket / parts - 1;
    return ((bucket - shift * parts + 1) << shift) - 1;
}

}  // namespace

void DurationHistogram::add(std::uint64_t nanoseconds) noexcept {
    std::atomic<std::uint32_t>& count = counts_[bucket_of(nanoseconds)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::uint64_t DurationHistogram::p99() const noexcept {
    std::array<std::uint32_t, buckets> counts{};
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        counts[i] = counts_[i].load(std::memory_order_relaxed);
        all += counts[i];
    }
    std::uint64_t longer = all;
    for (std::size_t i = 0; i < buckets && all != 0; ++i) {
        longer -= counts[i];
        if (longer * hundred <= all) {
            return end_of(i);
        }
    }
    return 0;
}

}  // namespace sluice
