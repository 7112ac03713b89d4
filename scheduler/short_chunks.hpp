#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"

namespace sluice {

/// Captured work of one slot's short chunks, by number of items. Capturing costs more than enqueueing: a size is
/// captured when it recurs, and the most recently used sizes are kept.
class ShortChunks {
public:
    static constexpr std::size_t most_sizes = 4;

    /// Where to keep the work of a chunk of `items` >= 1; null if this size is new or was evicted. Evicted work is no
    /// longer running: the slot was free.
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
