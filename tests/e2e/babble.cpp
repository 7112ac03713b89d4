#include "tests/e2e/babble.hpp"

namespace sluice::test {

std::string babble(const BabbleOptions& options, std::string_view alphabet, std::uint64_t item,
                   std::string_view prefix) {
    std::string text(prefix.substr(0, options.most));
    for (;;) {
        const std::uint32_t letter = next_letter(options, item, static_cast<std::uint32_t>(text.size()));
        if (letter == babble_letters) {
            return text;
        }
        text += alphabet[letter];
    }
}

}  // namespace sluice::test
