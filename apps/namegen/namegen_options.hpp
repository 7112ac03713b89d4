#pragma once

#include <cstdint>
#include <span>

#include "core/settings.hpp"
#include "kernels/generator.hpp"

namespace sluice {

inline constexpr std::uint32_t longest_name = 256;  ///< Bytes that generate.max_length may ask for.

/// Where the random numbers of a job come from.
enum class DrawsFrom : std::uint8_t {
    philox,  ///< Of the item's number.
    libc,    ///< rand() of glibc.
    input,   ///< The input file holds them.
};

/// What a job says to the app "namegen".
struct NamegenOptions {
    Sampling sampling{};
    DrawsFrom draws = DrawsFrom::philox;
};

[[nodiscard]] std::span<const KeySpec> namegen_keys();

/// Throws Error (configuration) when `settings` contradict each other.
[[nodiscard]] NamegenOptions read_namegen_options(const AppSettings& settings);

}  // namespace sluice
