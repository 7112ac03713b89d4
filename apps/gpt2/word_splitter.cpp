#include "apps/gpt2/word_splitter.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>
#include <string>

#include "core/error.hpp"
#include "core/utf8.hpp"

namespace sluice::gpt2 {
namespace {

// White space is spelt out: PCRE2's own takes U+180E for one, which Unicode's property has not been since 6.3.
#define SLUICE_SPACE \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
constexpr std::string_view word_pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SLUICE_SPACE "\\p{L}\\p{N}]+|[" SLUICE_SPACE
    "]+(?![^" SLUICE_SPACE "])|[" SLUICE_SPACE "]+";
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

struct WordSplitter::Pattern {
    pcre2_code* code = nullptr;

    Pattern() {
        int error = 0;
        PCRE2_SIZE at = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(word_pattern.data()), word_pattern.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, nullptr);
        expects(code != nullptr, "word splitter: PCRE2 without Unicode");
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, the pattern is interpreted, more slowly
    }
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;
    ~Pattern() { pcre2_code_free(code); }
};

WordSplitter::WordSplitter() : pattern_(std::make_unique<Pattern>()) {}
WordSplitter::~WordSplitter() = default;

void WordSplitter::split(std::string_view text, FunctionRef<void(std::string_view)> take) const {
    const std::size_t ill_formed = first_ill_formed(text, 0);
    std::string copy;
    if (ill_formed < text.size()) {
        copy = made_well_formed(text, ill_formed);
    }
    const std::string_view subject = ill_formed < text.size() ? copy : text;
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(pcre2_match_data_create(1, nullptr),
                                                                                    &pcre2_match_data_free);
    if (!match) {
        throw std::bad_alloc();
    }
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
    for (std::size_t at = 0; at < text.size(); at = ends[1]) {
        const int found = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), at,
                                      PCRE2_NO_UTF_CHECK, match.get(), nullptr);
        if (found == PCRE2_ERROR_NOMEMORY || found == PCRE2_ERROR_JIT_STACKLIMIT) {
            throw std::bad_alloc();
        }
        expects(found > 0 && ends[1] > at, "word splitter: a text that no word begins");
        take(text.substr(at, ends[1] - at));
    }
}

}  // namespace sluice::gpt2
