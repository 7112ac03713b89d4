#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/settings.hpp"

namespace sluice {

// What apps that draw their texts have in common in [generate].

inline constexpr double highest_temperature = 100;

inline constexpr KeySpec seed_key{.section = "generate",
                                  .name = "seed",
                                  .type = KeyType::integer,
                                  .most = (std::uint64_t{1} << 63U) - 1,
                                  .help = "Seed of the random numbers; 0 if unset."};

struct SamplingOptions {
    float temperature = 1;    ///< 0: nothing is drawn.
    std::uint32_t top_k = 0;  ///< 0: all.
    std::uint64_t seed = 0;
};

/// Reads generate.temperature, top_k and seed. Throws like refuse_without_draws() if one of `draw_keys`, which only
/// draws use, is set although nothing is drawn. `unit`: what a draw chooses, "byte" or "token".
[[nodiscard]] SamplingOptions read_sampling_options(const AppSettings& settings,
                                                    std::span<const std::string_view> draw_keys, std::string_view unit);

/// Throws Error (configuration) about generate.`key`, which needs draws.
[[noreturn]] void refuse_without_draws(std::string_view key, std::string_view unit);

/// Throws Error (configuration) about generate.`key`.
[[noreturn]] void refuse_generate_key(std::string_view key, std::string what, std::string hint);

}  // namespace sluice
