#pragma once

#include <memory>
#include <string_view>

#include "core/function_ref.hpp"

namespace sluice::gpt2 {

/// Cuts texts into the words that are encoded one by one, with the pattern of GPT-2's encoder: an English contraction's
/// end; letters, digits or other signs, each with a space before it if there is one; white space, the last before a
/// word being that word's. Letters and digits are Unicode's classes L and N, white space its property White_Space.
/// A byte that is no part of well-formed UTF-8 counts as a sign. Immutable; thread-safe.
class WordSplitter {
public:
    WordSplitter();
    WordSplitter(const WordSplitter&) = delete;
    WordSplitter& operator=(const WordSplitter&) = delete;
    ~WordSplitter();

    /// All of `text`, in order.
    void split(std::string_view text, FunctionRef<void(std::string_view)> take) const;

private:
    struct Pattern;
    std::unique_ptr<const Pattern> pattern_;
};

}  // namespace sluice::gpt2
