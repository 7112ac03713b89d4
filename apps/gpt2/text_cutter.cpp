#include "apps/gpt2/text_cutter.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/error.hpp"
#include "core/text/utf8.hpp"

namespace sluice::gpt2 {
namespace {

constexpr auto to_form_c = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

/// Text of characters below U+0300, the first that composes with one before it, is in normal form C.
bool is_surely_composed(std::string_view text) {
    constexpr unsigned char first_byte_of_0300 = 0xCC;
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < first_byte_of_0300; });
}

using Characters = std::vector<utf8proc_int32_t>;

void append_decomposed(utf8proc_int32_t character, Characters& to) {
    constexpr std::size_t longest = 4;  // of a canonical decomposition
    const std::size_t size = to.size();
    to.resize(size + longest);
    int no_bounds = 0;
    const utf8proc_ssize_t length =
        utf8proc_decompose_char(character, to.data() + size, longest, to_form_c, &no_bounds);
    expects(length >= 0 && length <= static_cast<utf8proc_ssize_t>(longest),
            "text cutter: a character's decomposition");
    to.resize(size + static_cast<std::size_t>(length));
}

/// Canonical order of combining marks. utf8proc_map() swaps neighbours for it, in quadratic time.
void order_marks(Characters& characters) {
    const auto class_of = [](utf8proc_int32_t character) { return utf8proc_get_property(character)->combining_class; };
    const auto is_mark = [&](utf8proc_int32_t character) { return class_of(character) != 0; };
    for (auto at = characters.begin(); at != characters.end();) {
        const auto begin = std::find_if(at, characters.end(), is_mark);
        at = std::find_if_not(begin, characters.end(), is_mark);
        std::ranges::stable_sort(begin, at, std::less(), class_of);
    }
}

/// Well-formed `text` in normal form C (Unicode Standard Annex 15).
void append_composed(std::string_view text, std::string& to) {
    Characters characters;
    for (std::size_t at = 0; at < text.size();) {
        utf8proc_int32_t character = 0;
        const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                                         static_cast<utf8proc_ssize_t>(text.size() - at), &character);
        expects(length > 0, "text cutter: ill-formed text");
        append_decomposed(character, characters);
        at += static_cast<std::size_t>(length);
    }
    order_marks(characters);
    const utf8proc_ssize_t count =
        utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), to_form_c);
    expects(count >= 0, "text cutter: utf8proc could not compose a text");
    for (const utf8proc_int32_t character : std::span(characters).first(static_cast<std::size_t>(count))) {
        std::array<utf8proc_uint8_t, 4> bytes{};
        const utf8proc_ssize_t length = utf8proc_encode_char(character, bytes.data());
        to.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
    }
}

/// U+11A7 composes with nothing, but utf8proc 2.8 takes it for a syllable's last consonant and drops it.
constexpr std::string_view no_last_consonant = "\u11A7";

std::string composed(std::string_view text) {
    std::string result;
    std::size_t begin = 0;  // of a part to compose
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const std::string_view as_it_is = length == 0                                      ? text.substr(at, 1)
                                          : text.substr(at).starts_with(no_last_consonant) ? no_last_consonant
                                                                                           : std::string_view();
        if (as_it_is.empty()) {
            at += length;
        } else {
            append_composed(text.substr(begin, at - begin), result);
            result += as_it_is;
            at += as_it_is.size();
            begin = at;
        }
    }
    append_composed(text.substr(begin), result);
    return result;
}

}  // namespace

std::string normal_form_version() {
    return fmt::format("{}, Unicode {}", utf8proc_version(), utf8proc_unicode_version());
}

TextCutter::TextCutter(const std::vector<AddedToken>& tokens, bool composes) : tokens_(tokens), composes_(composes) {
    std::ranges::stable_sort(tokens_, {}, &AddedToken::text);
    const auto are_same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
    tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), are_same), tokens_.end());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        expects(!tokens_[i].text.empty(), "text cutter: an empty token");
        begins_a_token_[static_cast<unsigned char>(tokens_[i].text[0])] = true;
        shorter_.push_back(i == 0 ? none : longest_beginning(i - 1, tokens_[i].text));
    }
}

/// `last`: the last token that does not sort behind `text`. All that sort between a text and a token that begins it
/// begin with that token, too, so that the way from `last` to ever shorter beginnings leads there.
std::size_t TextCutter::longest_beginning(std::size_t last, std::string_view text) const {
    while (last != none && !text.starts_with(tokens_[last].text)) {
        last = shorter_[last];
    }
    return last;
}

const AddedToken* TextCutter::token_at(std::string_view text) const {
    if (!begins_a_token_[static_cast<unsigned char>(text[0])]) {
        return nullptr;
    }
    const auto behind = std::ranges::upper_bound(tokens_, text, {}, &AddedToken::text);
    if (behind == tokens_.begin()) {
        return nullptr;
    }
    const std::size_t found = longest_beginning(static_cast<std::size_t>(behind - tokens_.begin()) - 1, text);
    return found == none ? nullptr : &tokens_[found];
}

void TextCutter::cut(std::string_view text, FunctionRef<void(std::string_view)> take_text,
                     FunctionRef<void(TokenId)> take_token) const {
    std::size_t begin = 0;  // of a piece
    for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
        const AddedToken* const found = token_at(text.substr(at));
        if (found == nullptr) {
            ++at;
            continue;
        }
        take_piece(text.substr(begin, at - begin), take_text);
        take_token(found->id);
        at += found->text.size();
        begin = at;
    }
    take_piece(text.substr(begin), take_text);
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
