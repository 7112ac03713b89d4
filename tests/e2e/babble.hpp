#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/philox.hpp"

namespace sluice::test {

inline constexpr std::uint32_t longest_babble = 64;
inline constexpr std::uint32_t babble_letters = 26;
inline constexpr std::uint64_t no_item = UINT64_MAX;

/// What a job of the app "babble" says.
struct BabbleOptions {
    std::uint32_t most = 0;  ///< Letters of a text.
    double goes_on = 0;      ///< How likely each further letter is.
    std::uint64_t seed = 0;
    std::uint64_t deadly = no_item;  ///< The item that ends whoever computes it.
};

/// The letter after `length` others of item `item`, as a number; babble_letters: the text ends there. The same on every
/// device.
[[nodiscard]] constexpr std::uint32_t next_letter(const BabbleOptions& options, std::uint64_t item,
                                                  std::uint32_t length) {
    const Random128 random = random_words(options.seed, {.item = item, .number = length});
    if (length >= options.most || static_cast<double>(uniform_below_one(random.words[0])) >= options.goes_on) {
        return babble_letters;
    }
    return static_cast<std::uint32_t>(uniform_below_one(random.words[1]) * static_cast<float>(babble_letters));
}

/// The text of item `item`, which begins with `prefix`, in letters of `alphabet`: what a job has to give, by a plain
/// loop.
[[nodiscard]] std::string babble(const BabbleOptions& options, std::string_view alphabet, std::uint64_t item,
                                 std::string_view prefix);

}  // namespace sluice::test
