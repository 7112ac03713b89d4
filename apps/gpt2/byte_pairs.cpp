#include "apps/gpt2/byte_pairs.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <queue>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::size_t byte_values = 256;
constexpr std::size_t short_word = 48;  // bytes up to which looking at all pairs beats a queue of them

std::uint64_t pair_of(TokenId left, TokenId right) {
    return std::uint64_t{left} << 32U | right;
}

std::size_t slots_for(std::size_t entries) {
    return std::bit_ceil(2 * entries + 1);
}

/// A product's upper half depends on all bits of its factors: Fibonacci hashing.
std::size_t hash(std::uint64_t value) {
    const std::uint64_t product = value * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(product ^ product >> 32U);
}

/// The first eight bytes of `word`, zeros after its end.
std::uint64_t beginning_of(std::string_view word) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, word.data(), std::min(word.size(), sizeof bytes));
    return bytes;
}

std::size_t hash(std::string_view word) {
    return word.size() > sizeof(std::uint64_t) ? static_cast<std::size_t>(XXH3_64bits(word.data(), word.size()))
                                               : hash(beginning_of(word) ^ word.size());
}

}  // namespace

std::size_t BytePairs::first_repeated(std::span<const Merge> merges) {
    std::unordered_set<std::uint64_t> pairs;
    pairs.reserve(merges.size());
    const auto repeated = std::ranges::find_if(
        merges, [&](const Merge& merge) { return !pairs.insert(pair_of(merge.left, merge.right)).second; });
    return static_cast<std::size_t>(repeated - merges.begin());
}

BytePairs::BytePairs(std::vector<std::string> tokens, std::span<const Merge> merges, std::span<const TokenId> special,
                     Words words)
    : tokens_(std::move(tokens)),
      byte_tokens_(byte_values, never),
      pairs_(slots_for(merges.size())),
      whole_(slots_for(tokens_.size())) {
    expects(first_repeated(merges) == merges.size(), "byte pairs: two merges of the same tokens");
    std::vector<bool> is_special(tokens_.size());
    for (const TokenId token : special) {
        is_special[token] = true;
    }
    for (TokenId i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].size() == 1 && !is_special[i]) {
            byte_tokens_[static_cast<unsigned char>(tokens_[i][0])] = i;
        }
    }
    expects(std::ranges::count(byte_tokens_, never) == 0, "byte pairs: a byte without a token");
    for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
        const Merge& merge = merges[rank];
        const std::uint64_t pair = pair_of(merge.left, merge.right);
        std::size_t at = hash(pair) & (pairs_.size() - 1);
        while (pairs_[at].rank != never) {
            at = (at + 1) & (pairs_.size() - 1);
        }
        pairs_[at] = {pair, rank, merge.result};
    }
    std::vector<TokenId> parts;
    for (TokenId i = 0; i < tokens_.size(); ++i) {
        parts.clear();
        if (!is_special[i] && words == Words::by_merges) {
            merge(tokens_[i], parts);
        }
        if (!is_special[i] && (words == Words::whole || (parts.size() == 1 && parts[0] == i))) {
            remember_whole(i);
        }
    }
}

const BytePairs::PairSlot& BytePairs::slot_of(TokenId left, TokenId right) const noexcept {
    const std::uint64_t pair = pair_of(left, right);
    std::size_t at = hash(pair) & (pairs_.size() - 1);
    while (pairs_[at].rank != never && pairs_[at].pair != pair) {
        at = (at + 1) & (pairs_.size() - 1);
    }
    return pairs_[at];
}

void BytePairs::remember_whole(TokenId token) {
    std::size_t at = hash(tokens_[token]) & (whole_.size() - 1);
    while (whole_[at].token != never) {
        at = (at + 1) & (whole_.size() - 1);
    }
    whole_[at] = {beginning_of(tokens_[token]), static_cast<std::uint32_t>(tokens_[token].size()), token};
}

TokenId BytePairs::find_whole(std::string_view word) const noexcept {
    const std::uint64_t beginning = beginning_of(word);
    const auto is_word = [&](const WholeSlot& slot) {
        return slot.beginning == beginning && slot.length == word.size() &&
               (word.size() <= sizeof beginning || tokens_[slot.token] == word);
    };
    std::size_t at = hash(word) & (whole_.size() - 1);
    while (whole_[at].token != never && !is_word(whole_[at])) {
        at = (at + 1) & (whole_.size() - 1);
    }
    return whole_[at].token;
}

std::size_t BytePairs::encode(std::string_view word, std::vector<TokenId>& to) const {
    const TokenId whole = find_whole(word);
    if (whole == never) {
        return merge(word, to);
    }
    to.push_back(whole);
    return 0;
}

std::size_t BytePairs::merge(std::string_view word, std::vector<TokenId>& to) const {
    return word.size() <= short_word ? merge_short(word, to) : merge_long(word, to);
}

std::size_t BytePairs::merge_short(std::string_view word, std::vector<TokenId>& to) const {
    std::array<TokenId, short_word> tokens{};
    std::array<std::uint32_t, short_word> ranks{};  // of a token and the next one
    std::size_t count = word.size();
    for (std::size_t i = 0; i < count; ++i) {
        tokens[i] = byte_tokens_[static_cast<unsigned char>(word[i])];
    }
    for (std::size_t i = 0; i + 1 < count; ++i) {
        ranks[i] = rank_of(tokens[i], tokens[i + 1]);
    }
    std::size_t looks = 0;
    while (count > 1) {
        looks += count - 1;
        const auto* const best = std::min_element(ranks.begin(), ranks.begin() + count - 1);
        if (*best == never) {
            break;
        }
        const auto at = static_cast<std::size_t>(best - ranks.begin());
        tokens[at] = slot_of(tokens[at], tokens[at + 1]).result;
        std::copy(tokens.begin() + at + 2, tokens.begin() + count, tokens.begin() + at + 1);
        std::copy(ranks.begin() + at + 1, ranks.begin() + count - 1, ranks.begin() + at);
        --count;
        if (at + 1 < count) {
            ranks[at] = rank_of(tokens[at], tokens[at + 1]);
        }
        if (at > 0) {
            ranks[at - 1] = rank_of(tokens[at - 1], tokens[at]);
        }
    }
    to.insert(to.end(), tokens.begin(), tokens.begin() + count);
    return looks;
}

std::size_t BytePairs::merge_long(std::string_view word, std::vector<TokenId>& to) const {
    expects(word.size() < never, "byte pairs: a word of 4 GiB");
    const auto count = static_cast<std::uint32_t>(word.size());
    constexpr TokenId gone = never;
    std::vector<TokenId> tokens(count);
    std::vector<std::uint32_t> next(count);
    std::vector<std::uint32_t> before(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        tokens[i] = byte_tokens_[static_cast<unsigned char>(word[i])];
        next[i] = i + 1;
        before[i] = i - 1;  // of the first, no position
    }
    const auto rank_at = [&](std::uint32_t i) {
        return tokens[i] == gone || next[i] == count ? never : rank_of(tokens[i], tokens[next[i]]);
    };

    // Ranks and positions, the first first. A pair that is no longer there is met with another rank, or again with its
    // own, and merges once.
    std::vector<std::uint64_t> first;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (rank_at(i) != never) {
            first.push_back(pair_of(rank_at(i), i));
        }
    }
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue({}, std::move(first));
    const auto enqueue = [&](std::uint32_t i) {
        if (rank_at(i) != never) {
            queue.push(pair_of(rank_at(i), i));
        }
    };
    std::size_t looks = 0;
    while (!queue.empty()) {
        ++looks;
        const auto rank = static_cast<std::uint32_t>(queue.top() >> 32U);
        const auto at = static_cast<std::uint32_t>(queue.top());
        queue.pop();
        if (rank_at(at) != rank) {
            continue;
        }
        const std::uint32_t right = next[at];
        tokens[at] = slot_of(tokens[at], tokens[right]).result;
        tokens[right] = gone;
        next[at] = next[right];
        if (next[at] != count) {
            before[next[at]] = at;
        }
        enqueue(at);
        if (at > 0) {
            enqueue(before[at]);
        }
    }
    std::ranges::copy_if(tokens, std::back_inserter(to), [](TokenId token) { return token != gone; });
    return looks;
}

}  // namespace sluice::gpt2
