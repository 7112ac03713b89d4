#pragma once

#include <cstdint>

namespace sluice {

/// The rows of a convolution's product run over all items. Those whose window would cross an item's end are dropped.
/// With pooling this counts groups of rows, one for each maximum.
struct ConvRows {
    static constexpr std::uint32_t nowhere = ~0U;

    std::uint32_t items;
    std::uint32_t of_item;  // in the input
    std::uint32_t kept;     // of them, in the output

    /// The row of the output that row `number` of the product goes to, or nowhere.
    __device__ __forceinline__ std::uint32_t place_of(std::uint32_t number) const {
        const std::uint32_t item = number / of_item;
        const std::uint32_t at = number - item * of_item;
        return item < items && at < kept ? item * kept + at : nowhere;
    }
};

}  // namespace sluice
