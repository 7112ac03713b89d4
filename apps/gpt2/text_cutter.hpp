#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "core/function_ref.hpp"

namespace sluice::gpt2 {

/// Of the library that knows normal forms, utf8proc, and of its Unicode: "2.8.0, Unicode 15.0.0".
[[nodiscard]] std::string normal_form_version();

/// A token whose text is one wherever it stands.
struct AddedToken {
    std::string text;
    TokenId id = 0;
};

/// What comes before a text's words: finds added tokens, the leftmost and of several there the longest, and brings the
/// text between them into Unicode's normal form C. Bytes that are not part of well-formed UTF-8 stay as they are.
/// Immutable; thread-safe.
class TextCutter {
public:
    /// No token's text is empty.
    TextCutter(const std::vector<AddedToken>& tokens, bool composes);

    /// Calls take_text(piece) and take_token(id) for all of `text`, in order.
    void cut(std::string_view text, FunctionRef<void(std::string_view)> take_text,
             FunctionRef<void(TokenId)> take_token) const;

    /// The most bytes of pieces for each byte of a text.
    [[nodiscard]] std::size_t most_growth() const noexcept;

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// The longest token that begins `text`; null: none.
    [[nodiscard]] const AddedToken* token_at(std::string_view text) const;
    [[nodiscard]] std::size_t longest_beginning(std::size_t last, std::string_view text) const;
    void take_piece(std::string_view piece, FunctionRef<void(std::string_view)> take_text) const;

    std::vector<AddedToken> tokens_;          // by text
    std::vector<std::size_t> shorter_;        // of each, the longest other that begins it, or none
    std::array<bool, 256> begins_a_token_{};  // by byte
    bool composes_;
};

}  // namespace sluice::gpt2
