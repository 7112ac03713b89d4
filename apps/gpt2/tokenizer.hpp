#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "apps/gpt2/text_cutter.hpp"
#include "apps/gpt2/tokenizer_kind.hpp"
#include "apps/gpt2/word_splitter.hpp"

namespace sluice::gpt2 {

/// A byte-level tokenizer like GPT-2's: converts any bytes to token ids and back, losslessly unless it brings texts
/// into a normal form. Special tokens are not recognised in texts. Immutable; thread-safe.
class Tokenizer {
public:
    /// Reads GPT-2's `vocab.json`, an object of tokens and their ids, and `merges.txt`, one merge per line in order of
    /// priority; both represent a byte as one character, like its encoder. Ids are 0 to n-1. Throws Error (no_input,
    /// bad_data: E-TOK-*).
    [[nodiscard]] static Tokenizer from_vocabulary(const std::filesystem::path& vocab,
                                                   const std::filesystem::path& merges);

    /// Reads a Hugging Face `tokenizer.json` (tokenizer_kind_of()). Special tokens are used by decode() only.
    [[nodiscard]] static Tokenizer from_json(const std::filesystem::path& file);

    /// Appends the tokens of `text`, without beginning().
    void encode(std::string_view text, std::vector<TokenId>& to) const;

    /// What every text of the model begins with.
    [[nodiscard]] std::span<const TokenId> beginning() const noexcept { return beginning_; }

    /// The most that encode() appends for a text of so many bytes.
    [[nodiscard]] std::size_t most_tokens(std::size_t bytes) const noexcept { return bytes * cutter_.most_growth(); }

    /// Appends the bytes of `tokens`, each below size().
    void decode(std::span<const TokenId> tokens, std::string& to) const;

    [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

private:
    Tokenizer(BytePairs pairs, TokenizerKind kind)
        : pairs_(std::move(pairs)),
          cutter_(kind.added, kind.composes),
          splitter_(kind.words),
          beginning_(std::move(kind.beginning)) {}

    BytePairs pairs_;
    TextCutter cutter_;
    WordSplitter splitter_;
    std::vector<TokenId> beginning_;
};

}  // namespace sluice::gpt2
