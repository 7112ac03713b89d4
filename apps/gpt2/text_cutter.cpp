#include "apps/gpt2/text_cutter.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/utf8.hpp"

namespace sluice::gpt2 {
namespace {

/// Text of characters below U+0300, the first that composes with one before it, is in normal form C.
bool is_surely_composed(std::string_view text) {
    constexpr unsigned char first_byte_of_0300 = 0xCC;
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < first_byte_of_0300; });
}

/// Well-formed `text` in normal form C.
void append_composed(std::string_view text, std::string& to) {
    utf8proc_uint8_t* composed = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
    if (length == UTF8PROC_ERROR_NOMEM) {
        throw std::bad_alloc();
    }
    expects(length >= 0, "text cutter: utf8proc could not compose a text");
    to.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
}

std::string composed(std::string_view text) {
    std::string result;
    std::size_t begin = 0;  // of the well-formed part
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length != 0) {
            at += length;
            continue;
        }
        append_composed(text.substr(begin, at - begin), result);
        result += text[at];
        begin = ++at;
    }
    append_composed(text.substr(begin), result);
    return result;
}

std::optional<Pattern> pattern_of(const std::vector<AddedToken>& tokens) {
    if (tokens.empty()) {
        return std::nullopt;
    }
    std::vector<std::string> texts;
    std::ranges::transform(tokens, std::back_inserter(texts), &AddedToken::text);
    return Pattern::of_texts(texts);
}

}  // namespace

TextCutter::TextCutter(std::vector<AddedToken> tokens, bool composes)
    : tokens_(std::move(tokens)), any_token_(pattern_of(tokens_)), composes_(composes) {}

void TextCutter::cut(std::string_view text, FunctionRef<void(std::string_view)> take_text,
                     FunctionRef<void(TokenId)> take_token) const {
    std::size_t at = 0;
    if (any_token_) {
        Pattern::Search search(*any_token_, text);
        while (const std::optional<Pattern::Match> found = search.from(at)) {
            take_piece(text.substr(at, found->begin - at), take_text);
            take_token(
                std::ranges::find(tokens_, text.substr(found->begin, found->end - found->begin), &AddedToken::text)
                    ->id);
            at = found->end;
        }
    }
    take_piece(text.substr(at), take_text);
}

void TextCutter::take_piece(std::string_view piece, FunctionRef<void(std::string_view)> take_text) const {
    if (piece.empty()) {
        return;
    }
    if (composes_ && !is_surely_composed(piece)) {
        take_text(composed(piece));
    } else {
        take_text(piece);
    }
}

/// Unicode Standard Annex 15, table 4: the largest expansion of UTF-8 by normal form C.
std::size_t TextCutter::most_growth() const noexcept {
    return composes_ ? 3 : 1;
}

}  // namespace sluice::gpt2
