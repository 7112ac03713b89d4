#pragma once

#include <cstdint>
#include <limits>

namespace sluice {

/// How narrowly a text's choices were decided, the minimum over its choices; infinite if none had an alternative.
struct TextDoubt {
    static constexpr float none = std::numeric_limits<float>::infinity();

    float distance = none;  ///< From a draw to the cumulative probability at which another byte or token begins.
    float gap = none;       ///< With temperature 0, top_k or top_p: from a score that is kept to one that is not.

    friend bool operator==(const TextDoubt&, const TextDoubt&) = default;
};

/// Minimum of each measure; a NaN is less than any number.
[[nodiscard]] constexpr TextDoubt least(const TextDoubt& a, const TextDoubt& b) {
    return {.distance = a.distance <= b.distance || a.distance != a.distance ? a.distance : b.distance,
            .gap = a.gap <= b.gap || a.gap != a.gap ? a.gap : b.gap};
}

/// The same for one choice.
struct ChoiceDoubt {
    TextDoubt doubt{};
    std::uint32_t kept = 0;  ///< Hash of the set of tokens that the choice was among.
};

}  // namespace sluice
