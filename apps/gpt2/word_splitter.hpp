#pragma once

#include <memory>
#include <string_view>

#include "core/function_ref.hpp"

namespace sluice::gpt2 {

/// Splits texts into the words that are encoded separately, by the pattern of GPT-2's encoder: the ending of an English
/// contraction; a run of letters, of digits or of other characters, with a preceding space if any; white space, except
/// a last space that belongs to the following word. Letters and digits are Unicode's classes L and N, white space has
/// the property White_Space. A byte that is not part of well-formed UTF-8 counts as another character. Immutable;
/// thread-safe.
class WordSplitter {
public:
    WordSplitter();
    WordSplitter(const WordSplitter&) = delete;
    WordSplitter& operator=(const WordSplitter&) = delete;
    ~WordSplitter();

    /// Calls take(word) for all words of `text`, in order.
    void split(std::string_view text, FunctionRef<void(std::string_view)> take) const;

private:
    struct Pattern;
    std::unique_ptr<const Pattern> pattern_;
};

}  // namespace sluice::gpt2
