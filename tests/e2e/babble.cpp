#include <algorithm>

#include "kernels/philox.hpp"
#include "tests/e2e/babble.hpp"

namespace sluice::test {

std::uint32_t next_letter(const BabbleOptions& options, std::uint64_t item, std::uint32_t length) {
    const Random128 random = random_words(options.seed, {.item = item, .number = length});
    if (length >= options.most || static_cast<double>(uniform_below_one(random.words[0])) >= options.goes_on) {
        return babble_letters;
    }
    return static_cast<std::uint32_t>(uniform_below_one(random.words[1]) * static_cast<float>(babble_letters));
}

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
