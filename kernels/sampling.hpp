#pragma once

#include <cstdint>

#include "core/chunk.hpp"

namespace sluice {

inline constexpr std::uint32_t gru_symbols = 256;  ///< Bytes that a step scores.

/// How the next byte is chosen.
struct Sampling {
    std::uint32_t max_length = 1;  ///< Bytes of a text, its prefix included.
    float temperature = 1;         ///< Divides the scores; 0: greedy, the first byte with the largest score.
    std::uint32_t top_k = 0;       ///< Only the top_k largest scores count, the first among equals; 0: all.
    std::uint64_t seed = 0;        ///< For items that bring no draws.
    /// On GPUs: maximum number of tables, at least one, of the bytes that follow no byte, each byte, each two bytes.
    /// Fewer give the same texts in more steps.
    std::uint32_t prefix_tables = 3;
};

/// Header of an item; then max_length fp32 draws in [0, 1] and max_length bytes that begin with the prefix, padded.
struct TextStart {
    std::uint64_t number = 0;     ///< The item's number in the job; seeds its draws if it brings none.
    std::uint32_t prefix = 0;     ///< Bytes.
    std::uint32_t has_draws = 0;  ///< 1: draw i decides byte i of the text; 0: the draws are ignored.
};

/// Header of a result; then max_length bytes, zeros after the text, padded.
struct TextEnd {
    std::int32_t length = 0;    ///< Bytes of the text, its prefix included.
    float log_probability = 0;  ///< Of the chosen bytes and end, by the network's scores as they are.
};

[[nodiscard]] constexpr std::uint32_t rounded_up(std::uint32_t bytes, std::uint32_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

[[nodiscard]] constexpr IoShape generator_io(std::uint32_t max_length) {
    constexpr std::uint32_t draw_bytes = sizeof(float);
    return {static_cast<std::uint32_t>(sizeof(TextStart)) + rounded_up(max_length * (draw_bytes + 1), 8),
            static_cast<std::uint32_t>(sizeof(TextEnd)) + rounded_up(max_length, 4)};
}

}  // namespace sluice
