#include "apps/gpt2/word_splitter.hpp"

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/text/utf8.hpp"

namespace sluice::gpt2 {
namespace {

// White space is spelt out: PCRE2's own takes U+180E for one, which Unicode's property has not been since 6.3.
#define SLUICE_SPACE \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define SLUICE_LAST_SPACES "[" SLUICE_SPACE "]+(?![^" SLUICE_SPACE "])|[" SLUICE_SPACE "]+"
#define SLUICE_WORDS_WITH_DIGITS(digits)                                                      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" SLUICE_SPACE \
    "\\p{L}\\p{N}]+[\\r\\n]*|[" SLUICE_SPACE "]*[\\r\\n]+|" SLUICE_LAST_SPACES

std::string_view expression_of(WordPattern pattern) {
    switch (pattern) {
        case WordPattern::gpt2:
            return "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SLUICE_SPACE "\\p{L}\\p{N}]+|" SLUICE_LAST_SPACES;
        case WordPattern::llama3:
            return SLUICE_WORDS_WITH_DIGITS("\\p{N}{1,3}");
        case WordPattern::qwen2:
            return SLUICE_WORDS_WITH_DIGITS("\\p{N}");
    }
    throw ContractViolation("word splitter: no such pattern");
}
#undef SLUICE_WORDS_WITH_DIGITS
#undef SLUICE_LAST_SPACES
#undef SLUICE_SPACE

/// Where the first ill-formed byte is, or text.size().
std::size_t first_ill_formed(std::string_view text, std::size_t from) {
    while (from < text.size()) {
        const std::size_t length = utf8_length(text, from);
        if (length == 0) {
            return from;
        }
        from += length;
    }
    return text.size();
}

/// `text` with another sign of one byte for each ill-formed byte.
std::string made_well_formed(std::string_view text, std::size_t first) {
    std::string copy(text);
    for (std::size_t at = first; at < copy.size(); at = first_ill_formed(text, at + 1)) {
        copy[at] = '\x01';
    }
    return copy;
}

}  // namespace

WordSplitter::WordSplitter(WordPattern pattern) : pattern_(expression_of(pattern)) {}

void WordSplitter::split(std::string_view text, FunctionRef<void(std::string_view)> take) const {
    const std::size_t ill_formed = first_ill_formed(text, 0);
    std::string copy;
    if (ill_formed < text.size()) {
        copy = made_well_formed(text, ill_formed);
    }
    Pattern::Search search(pattern_, ill_formed < text.size() ? std::string_view(copy) : text);
    for (std::size_t at = 0; at < text.size();) {
        const std::optional<std::size_t> end = search.end_of_match(at);
        expects(end.has_value() && *end > at, "word splitter: a text that no word begins");
        take(text.substr(at, *end - at));
        at = *end;
    }
}

}  // namespace sluice::gpt2
