#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/codec.hpp"

namespace sluice {

/// The values of some results that are NaN or infinite.
struct Nonfinite {
    static constexpr std::size_t most_items = 3;

    std::uint64_t values = 0;
    std::vector<std::uint64_t> first_items{};  ///< Which have any: the first `most_items` of them.
    std::uint64_t items = 0;                   ///< How many have any.
    bool is_marked = false;                    ///< Some have nonfinite_mark.
};

/// Of the items from number `first` on, whose fields lie in `outputs` one item after the other. An item whose scores
/// are not there counts once when its label has nonfinite_mark.
[[nodiscard]] Nonfinite find_nonfinite(std::span<const OutputField> fields, std::uint64_t first,
                                       std::span<const std::byte> outputs);

/// Takes nonfinite_mark away.
void remove_marks(std::span<const OutputField> fields, std::span<std::byte> outputs);

}  // namespace sluice
