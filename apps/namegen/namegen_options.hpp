#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/modes.hpp"
#include "core/settings.hpp"
#include "kernels/generator.hpp"

namespace sluice::namegen {

inline constexpr std::uint32_t longest_name = 256;  ///< Upper limit of generate.max_length, in bytes.

/// Source of a job's random numbers.
enum class DrawsFrom : std::uint8_t {
    philox,  ///< Philox, keyed by the item's number.
    libc,    ///< glibc's rand().
    input,   ///< The input file.
};

/// A job's settings of the app "namegen".
struct NamegenOptions {
    Sampling sampling{};
    DrawsFrom draws = DrawsFrom::philox;
};

[[nodiscard]] std::span<const KeySpec> namegen_keys();

/// Throws Error (configuration) when `settings` contradict each other.
[[nodiscard]] NamegenOptions read_namegen_options(const AppSettings& settings);

}  // namespace sluice::namegen

namespace sluice {
template <>
inline constexpr std::array<std::string_view, 3> words_of<namegen::DrawsFrom>{"philox", "libc", "input"};
}  // namespace sluice
