#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "apps/gpt2/word_splitter.hpp"

namespace sluice::gpt2 {

/// GPT-2's byte-level tokenizer: converts any bytes to token ids and back, losslessly. Special tokens are not
/// recognised in texts. Immutable; thread-safe.
class Tokenizer {
public:
    /// Reads `vocab.json`, an object of tokens and their ids, and `merges.txt`, one merge per line in order of
    /// priority; both represent a byte as one character, like GPT-2's encoder. Ids are 0 to n-1. Throws Error
    /// (no_input, bad_data: E-TOK-*).
    [[nodiscard]] static Tokenizer from_vocabulary(const std::filesystem::path& vocab,
                                                   const std::filesystem::path& merges);

    /// Reads an equivalent Hugging Face `tokenizer.json`: a byte-level BPE model without normaliser. Added tokens are
    /// used by decode() only.
    [[nodiscard]] static Tokenizer from_json(const std::filesystem::path& file);

    /// Appends the tokens of `text`.
    void encode(std::string_view text, std::vector<TokenId>& to) const;

    /// Appends the bytes of `tokens`, each below size().
    void decode(std::span<const TokenId> tokens, std::string& to) const;

    [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

    /// Id of the token with these bytes, e.g. "<|endoftext|>".
    [[nodiscard]] std::optional<TokenId> find(std::string_view bytes) const noexcept;

private:
    explicit Tokenizer(BytePairs pairs) : pairs_(std::move(pairs)), splitter_(std::make_unique<WordSplitter>()) {}

    BytePairs pairs_;
    std::unique_ptr<const WordSplitter> splitter_;
};

}  // namespace sluice::gpt2
