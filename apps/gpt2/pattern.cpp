#include "apps/gpt2/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace sluice::gpt2 {

struct Pattern::Code {
    pcre2_code* code = nullptr;

    Code(std::string_view expression, std::uint32_t options) {
        int error = 0;
        PCRE2_SIZE at = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(), options, &error, &at,
                             nullptr);
        expects(code != nullptr, "pattern: not one of PCRE2 with Unicode");
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, the pattern is interpreted, more slowly
    }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    ~Code() { pcre2_code_free(code); }
};

struct Pattern::Search::Memory {
    pcre2_match_data* data = pcre2_match_data_create(1, nullptr);

    Memory() {
        if (data == nullptr) {
            throw std::bad_alloc();
        }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { pcre2_match_data_free(data); }
};

Pattern::Pattern(std::unique_ptr<const Code> code) : code_(std::move(code)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::anchored_in_utf8(std::string_view expression) {
    return Pattern(std::make_unique<Code>(expression, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED));
}

Pattern Pattern::of_texts(std::span<const std::string> texts) {
    std::vector<std::string> longest_first(texts.begin(), texts.end());
    std::ranges::stable_sort(longest_first, std::greater(), &std::string::size);
    std::string expression;
    for (const std::string& text : longest_first) {
        expects(!text.empty(), "pattern: an empty text");
        expression += expression.empty() ? "" : "|";
        for (const char c : text) {
            constexpr const char* digits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(c);
            expression += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
        }
    }
    return Pattern(std::make_unique<Code>(expression, 0));
}

Pattern::Search::Search(const Pattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text), memory_(std::make_unique<Memory>()) {}
Pattern::Search::~Search() = default;

std::optional<Pattern::Match> Pattern::Search::from(std::size_t at) {
    const int found = pcre2_match(pattern_.code_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at,
                                  PCRE2_NO_UTF_CHECK, memory_->data, nullptr);
    if (found == PCRE2_ERROR_NOMATCH) {
        return std::nullopt;
    }
    if (found == PCRE2_ERROR_NOMEMORY || found == PCRE2_ERROR_JIT_STACKLIMIT) {
        throw std::bad_alloc();
    }
    expects(found > 0, "pattern: PCRE2 could not search");
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(memory_->data);
    return Match{ends[0], ends[1]};
}

}  // namespace sluice::gpt2
