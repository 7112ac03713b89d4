#include "apps/gpt2/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <limits>
#include <new>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

std::string configured(std::uint32_t what) {
    std::string text(static_cast<std::size_t>(pcre2_config(what, nullptr)), '\0');
    pcre2_config(what, text.data());
    text.pop_back();  // a zero
    return text;
}

}  // namespace

std::string pcre2_version() {
    return configured(PCRE2_CONFIG_VERSION) + ", Unicode " + configured(PCRE2_CONFIG_UNICODE_VERSION);
}

struct Pattern::Code {
    pcre2_code* code = nullptr;

    explicit Code(std::string_view expression) {
        int error = 0;
        PCRE2_SIZE at = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, nullptr);
        expects(code != nullptr, "pattern: not one of PCRE2 with Unicode");
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, the pattern is interpreted, more slowly
    }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    ~Code() { pcre2_code_free(code); }
};

struct Pattern::Search::Memory {
    pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
    pcre2_match_context* context = pcre2_match_context_create(nullptr);

    /// Limits are for patterns whose time grows faster than a text; a run of white space takes more steps than they
    /// allow.
    Memory() {
        if (data == nullptr || context == nullptr) {
            free();
            throw std::bad_alloc();
        }
        pcre2_set_match_limit(context, std::numeric_limits<std::uint32_t>::max());
        pcre2_set_depth_limit(context, std::numeric_limits<std::uint32_t>::max());
        pcre2_set_heap_limit(context, std::numeric_limits<std::uint32_t>::max());
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { free(); }

private:
    void free() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
    }
};

Pattern::Pattern(std::string_view expression) : code_(std::make_unique<Code>(expression)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern::Search::Search(const Pattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text), memory_(std::make_unique<Memory>()) {}
Pattern::Search::~Search() = default;

std::optional<std::size_t> Pattern::Search::end_of_match(std::size_t at) {
    const int found = pcre2_match(pattern_.code_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at,
                                  PCRE2_NO_UTF_CHECK, memory_->data, memory_->context);
    if (found == PCRE2_ERROR_NOMATCH) {
        return std::nullopt;
    }
    if (found == PCRE2_ERROR_NOMEMORY || found == PCRE2_ERROR_JIT_STACKLIMIT || found == PCRE2_ERROR_HEAPLIMIT) {
        throw std::bad_alloc();
    }
    expects(found > 0, "pattern: PCRE2 could not match");
    return pcre2_get_ovector_pointer(memory_->data)[1];
}

}  // namespace sluice::gpt2
