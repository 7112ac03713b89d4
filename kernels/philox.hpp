#pragma once

#include <cstdint>

namespace sluice {

/// Four random words.
struct Random128 {
    std::uint32_t words[4];
    friend constexpr bool operator==(const Random128&, const Random128&) = default;
};

/// Philox4x32-10: `counter` enciphered by the key. Counter-based, so that words may be drawn in any order, on any
/// device. Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
[[nodiscard]] constexpr Random128 philox4x32(Random128 counter, std::uint32_t key0, std::uint32_t key1) {
    constexpr std::uint64_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
    constexpr std::uint32_t key_steps[] = {0x9E3779B9, 0xBB67AE85};  // golden ratio, root of 3 less 1
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t first = multipliers[0] * counter.words[0];
        const std::uint64_t second = multipliers[1] * counter.words[2];
        counter = {
            {static_cast<std::uint32_t>(second >> 32U) ^ counter.words[1] ^ key0, static_cast<std::uint32_t>(second),
             static_cast<std::uint32_t>(first >> 32U) ^ counter.words[3] ^ key1, static_cast<std::uint32_t>(first)}};
        key0 += key_steps[0];
        key1 += key_steps[1];
    }
    return counter;
}

/// Identifies one of a job's random numbers.
struct Draw {
    std::uint64_t item;         ///< Its index in the job, not in a chunk.
    std::uint32_t number;       ///< Index among the item's draws for this purpose.
    std::uint32_t purpose = 0;  ///< Defined by the app; draws for different purposes are independent.
};

/// A pure function of job seed and draw.
[[nodiscard]] constexpr Random128 random_words(std::uint64_t seed, const Draw& draw) {
    return philox4x32({{static_cast<std::uint32_t>(draw.item), static_cast<std::uint32_t>(draw.item >> 32U),
                        draw.number, draw.purpose}},
                      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U));
}

/// Uniform in [0, 1): the multiples of 2^-24, exact in fp32.
[[nodiscard]] constexpr float uniform_below_one(std::uint32_t word) {
    return static_cast<float>(word >> 8U) * 0x1p-24F;
}

}  // namespace sluice
