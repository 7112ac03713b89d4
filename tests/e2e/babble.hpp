#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::test {

/// What a job of the app "babble" says.
struct BabbleOptions {
    std::uint32_t most = 0;  ///< Letters of a text.
    double goes_on = 0;      ///< How likely each further letter is.
    std::uint64_t seed = 0;
};

inline constexpr std::uint32_t longest_babble = 64;
inline constexpr std::uint32_t babble_letters = 26;

/// The letter after `length` others of item `item`, as a number; babble_letters: the text ends there.
[[nodiscard]] std::uint32_t next_letter(const BabbleOptions& options, std::uint64_t item, std::uint32_t length);

/// The text of item `item`, which begins with `prefix`, in letters of `alphabet`: what a job has to give, by a plain
/// loop.
[[nodiscard]] std::string babble(const BabbleOptions& options, std::string_view alphabet, std::uint64_t item,
                                 std::string_view prefix);

}  // namespace sluice::test
