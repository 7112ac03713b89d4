#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"

namespace sluice {

/// The captured work of one slot's chunks of fewer items than fit, by their number of items. To capture costs more than
/// to enqueue: only a size that the slot meets again is captured, and those that it met last are kept.
class ShortChunks {
public:
    static constexpr std::size_t most_sizes = 4;

    /// Where to keep the work of a chunk of `items`, at least 1; null when they are met for the first time, or so long
    /// ago that it was forgotten. What is forgotten is no longer running: the slot was free.
    [[nodiscard]] std::unique_ptr<CapturedWork>* meet(std::size_t items) noexcept {
        ++meetings_;
        auto* const known = std::ranges::find(sizes_, items, &Size::items);
        if (known != sizes_.end()) {
            known->last_met = meetings_;
            return &known->captured;
        }
        *std::ranges::min_element(sizes_, {}, &Size::last_met) = {.items = items, .last_met = meetings_};
        return nullptr;
    }

private:
    struct Size {
        std::size_t items = 0;
        std::uint64_t last_met = 0;
        std::unique_ptr<CapturedWork> captured{};
    };

    std::array<Size, most_sizes> sizes_;
    std::uint64_t meetings_ = 0;
};

}  // namespace sluice
