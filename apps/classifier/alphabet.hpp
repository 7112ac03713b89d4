#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::classifier {

/// The classifier's symbols in the order of Zhang, Zhao, LeCun 2015 (arXiv:1509.01626), section 2.2: the 69 characters
/// that the paper prints, the hyphen twice, then the new line, which it counts. docs/classifier.md gives the reasons.
inline constexpr std::string_view classifier_alphabet =
    "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{}\n";

inline constexpr std::uint32_t classifier_symbols = 70;
inline constexpr std::uint32_t classifier_length = 1014;  ///< Characters of an item; the paper's l0.
inline constexpr std::uint8_t classifier_blank = 70;      ///< Symbol of padding, space, and bytes outside the alphabet.
static_assert(classifier_alphabet.size() == classifier_symbols && classifier_blank == classifier_symbols);

/// Symbol of each byte. Upper-case ASCII letters map to lower case; of the two hyphens the later one is used, as in the
/// dictionary of the paper's own code (Crepe, train/data.lua).
[[nodiscard]] constexpr std::array<std::uint8_t, 256> classifier_symbol_table() {
    std::array<std::uint8_t, 256> table{};
    table.fill(classifier_blank);
    for (std::size_t i = 0; i < classifier_alphabet.size(); ++i) {
        table[static_cast<unsigned char>(classifier_alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    for (std::size_t letter = 0; letter < 26; ++letter) {
        table['A' + letter] = table['a' + letter];
    }
    return table;
}

}  // namespace sluice::classifier
