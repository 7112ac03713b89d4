#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "apps/gpt2/text_cutter.hpp"
#include "apps/gpt2/word_splitter.hpp"

namespace sluice::gpt2 {

/// How texts become words, and words tokens.
struct TokenizerKind {
    WordPattern words = WordPattern::gpt2;
    bool composes = false;                                       ///< Texts are brought into Unicode's normal form C.
    BytePairs::Words known_words = BytePairs::Words::by_merges;  ///< How words that are tokens are encoded.
    std::vector<TokenId> beginning;                              ///< Of every text.
    std::vector<AddedToken> added;                               ///< That are recognised in texts.
};

/// Of a Hugging Face `tokenizer.json`: a byte-level BPE whose words are GPT-2's, Llama 3's or Qwen 2's. Throws Error
/// (bad_data: E-TOK-058) where it tokenizes in another way.
[[nodiscard]] TokenizerKind tokenizer_kind_of(const nlohmann::json& file, const std::string& where);

/// object[name], or null if there is none.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, std::string_view name);

}  // namespace sluice::gpt2
