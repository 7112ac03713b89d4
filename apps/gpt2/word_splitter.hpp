#pragma once

#include <cstdint>
#include <string_view>

#include "apps/gpt2/pattern.hpp"
#include "core/function_ref.hpp"

namespace sluice::gpt2 {

/// What a word is. Letters and digits are Unicode's classes L and N; white space has the property White_Space.
enum class WordPattern : std::uint8_t {
    /// GPT-2's: the ending of an English contraction; a run of letters, of digits or of other characters, with a
    /// preceding space if any; white space, except a last space that belongs to the following word.
    gpt2,
    /// Llama 3's: contractions in capitals, too; letters with any one character before them but a line's end; at most
    /// three digits; other characters with the line ends behind them; white space up to a line's end.
    llama3,
    qwen2,  ///< The same with one digit at a time.
};

/// Splits texts into the words that are encoded separately. A byte that is not part of well-formed UTF-8 counts as
/// another character. Immutable; thread-safe.
class WordSplitter {
public:
    explicit WordSplitter(WordPattern pattern);

    /// Calls take(word) for all words of `text`, in order.
    void split(std::string_view text, FunctionRef<void(std::string_view)> take) const;

private:
    Pattern pattern_;
};

}  // namespace sluice::gpt2
