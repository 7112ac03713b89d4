#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// Draws `wanted` of the items below `items` that are not `left_out`, in ascending order; all of them if there are not
/// more. Each choice is as likely as any other, and follows from `seed`. Takes no memory for the items that it draws.
class ItemSample {
public:
    ItemSample(std::uint64_t items, std::vector<std::uint64_t> left_out, std::uint64_t wanted, std::uint64_t seed);

    /// Items that next() is still to give.
    [[nodiscard]] std::uint64_t wanted() const noexcept { return wanted_; }

    /// nullopt: there is no further one.
    [[nodiscard]] std::optional<std::uint64_t> next();

private:
    std::vector<std::uint64_t> left_out_;  // ascending
    std::uint64_t seed_;
    std::uint64_t item_ = 0;  // the next one to decide on
    std::uint64_t left_;      // items to decide on
    std::uint64_t wanted_;
};

}  // namespace sluice
