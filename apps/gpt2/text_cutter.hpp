#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "apps/gpt2/pattern.hpp"
#include "core/function_ref.hpp"

namespace sluice::gpt2 {

/// A token whose text is one wherever it stands.
struct AddedToken {
    std::string text;
    TokenId id = 0;
};

/// What comes before a text's words: finds added tokens, and brings the text between them into Unicode's normal form C.
/// Bytes that are not part of well-formed UTF-8 stay as they are. Immutable; thread-safe.
class TextCutter {
public:
    TextCutter(std::vector<AddedToken> tokens, bool composes);

    /// Calls take_text(piece) and take_token(id) for all of `text`, in order.
    void cut(std::string_view text, FunctionRef<void(std::string_view)> take_text,
             FunctionRef<void(TokenId)> take_token) const;

    /// Bytes of a text's pieces for each of its own.
    [[nodiscard]] std::size_t most_growth() const noexcept;

private:
    void take_piece(std::string_view piece, FunctionRef<void(std::string_view)> take_text) const;

    std::vector<AddedToken> tokens_;
    std::optional<Pattern> any_token_;
    bool composes_;
};

}  // namespace sluice::gpt2
