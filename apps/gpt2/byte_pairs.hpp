#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gpt2 {

using TokenId = std::uint32_t;

/// Two adjacent tokens that are merged into one.
struct Merge {
    TokenId left = 0;
    TokenId right = 0;
    TokenId result = 0;
};

/// Byte-pair encoding: a word starts as its bytes; while two adjacent tokens have a merge, the pair whose merge comes
/// first in the list is merged, the leftmost of equal ones. Several merges may make one token. R. Sennrich, B. Haddow,
/// A. Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over bytes as in A. Radford et al.,
/// "Language Models are Unsupervised Multitask Learners" (2019). Immutable.
class BytePairs {
public:
    /// How words that are tokens are encoded.
    enum class Words : std::uint8_t {
        by_merges,
        whole,  ///< As this token, whatever merges make of them.
    };

    /// tokens[i] are the bytes of token i; every single byte must be among those that are not in `special`, which
    /// encode() never gives. No two merges join the same tokens. Throws ContractViolation if violated; check with
    /// first_repeated().
    BytePairs(std::vector<std::string> tokens, std::span<const Merge> merges, std::span<const TokenId> special = {},
              Words words = Words::by_merges);

    /// Index of the first merge of tokens that one before it joins, or merges.size().
    [[nodiscard]] static std::size_t first_repeated(std::span<const Merge> merges);

    /// Appends the tokens of `word`, shorter than 4 GiB, in O(n log n). Returns how many pairs it has looked at: up to
    /// 24 for each byte of a short word, 3 for each of a longer one.
    std::size_t encode(std::string_view word, std::vector<TokenId>& to) const;

    [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

    /// Bytes of `token` < size().
    [[nodiscard]] std::string_view bytes(TokenId token) const noexcept { return tokens_[token]; }

private:
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

    struct PairSlot {
        std::uint64_t pair = 0;  // left, right
        std::uint32_t rank = never;
        TokenId result = 0;
    };

    struct WholeSlot {
        std::uint64_t beginning = 0;  // the token's first eight bytes
        std::uint32_t length = 0;
        TokenId token = never;
    };

    [[nodiscard]] const PairSlot& slot_of(TokenId left, TokenId right) const noexcept;
    [[nodiscard]] std::uint32_t rank_of(TokenId left, TokenId right) const noexcept {
        return slot_of(left, right).rank;
    }
    [[nodiscard]] TokenId find_whole(std::string_view word) const noexcept;
    void remember_whole(TokenId token);
    std::size_t merge(std::string_view word, std::vector<TokenId>& to) const;
    std::size_t merge_short(std::string_view word, std::vector<TokenId>& to) const;
    std::size_t merge_long(std::string_view word, std::vector<TokenId>& to) const;

    std::vector<std::string> tokens_;
    std::vector<TokenId> byte_tokens_;  // by byte
    std::vector<PairSlot> pairs_;       // open addressing; a power of two
    std::vector<WholeSlot> whole_;      // open addressing; tokens that words with their bytes become
};

}  // namespace sluice::gpt2
