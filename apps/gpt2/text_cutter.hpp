#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "core/function_ref.hpp"

namespace sluice::gpt2 {

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
    struct Found {
        std::size_t length = 0;
        TokenId id = 0;
    };

    [[nodiscard]] std::optional<Found> token_at(std::string_view text) const;
    void take_piece(std::string_view piece, FunctionRef<void(std::string_view)> take_text) const;

    std::map<std::string, TokenId, std::less<>> tokens_;
    std::array<std::set<std::size_t, std::greater<>>, 256>
        lengths_;  // of tokens that begin with this byte, the longest first
    bool composes_;
};

}  // namespace sluice::gpt2
