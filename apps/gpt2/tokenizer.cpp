#include "apps/gpt2/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "apps/gpt2/side_file.hpp"
#include "apps/gpt2/tokenizer_kind.hpp"
#include "core/error.hpp"
#include "core/text/utf8.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

constexpr const char* tokenizer_hint = "take the files that came with the model";
constexpr std::uint64_t largest_file = std::uint64_t{64} << 20U;
constexpr SideFileErrors token_errors{"E-TOK-055", tokenizer_hint};

[[noreturn]] void refuse_tokens(const char* id, const std::string& where, std::string what) {
    throw Error(ExitCode::bad_data, {id, where, std::move(what), tokenizer_hint});
}

/// The bytes by the character that spells them: themselves where that can be seen, else one from U+0100 on.
class ByteAlphabet {
public:
    ByteAlphabet() {
        bytes_.fill(none);
        std::size_t next = 0x100;
        for (int byte = 0; byte < 256; ++byte) {
            const bool is_seen = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
            bytes_[is_seen ? static_cast<std::size_t>(byte) : next++] = static_cast<std::int16_t>(byte);
        }
    }

    /// Nothing where a character spells no byte.
    [[nodiscard]] std::optional<std::string> bytes_of(std::string_view spelt) const {
        std::string bytes;
        for (std::size_t at = 0; at < spelt.size();) {
            const std::size_t length = utf8_length(spelt, at);
            const auto first = static_cast<unsigned char>(spelt[at]);
            std::size_t character = first;
            if (length == 2) {
                character = (first & 0x1FU) << 6U | (static_cast<unsigned char>(spelt[at + 1]) & 0x3FU);
            }
            if (length == 0 || length > 2 || character >= bytes_.size() || bytes_[character] == none) {
                return std::nullopt;
            }
            bytes += static_cast<char>(bytes_[character]);
            at += length;
        }
        return bytes;
    }

private:
    static constexpr std::int16_t none = -1;
    std::array<std::int16_t, 0x144> bytes_{};
};

/// Tokens and merges on their way in: every error names the file and what of it.
class Vocabulary {
public:
    explicit Vocabulary(std::string where) : where_(std::move(where)) {}

    void add_tokens(const json& tokens, std::size_t added) {
        if (!tokens.is_object() || tokens.empty()) {
            refuse_tokens("E-TOK-055", where_, "expected an object of tokens and their ids");
        }
        tokens_.resize(tokens.size() + added);
        is_known_.resize(tokens_.size());
        for (const auto& [spelt, id] : tokens.items()) {
            const std::optional<std::string> bytes = alphabet_.bytes_of(spelt);
            if (!bytes || bytes->empty()) {
                refuse_tokens("E-TOK-056", where_,
                              fmt::format("token {} {}", quoted(spelt),
                                          bytes ? "is empty" : "has a character that spells no byte"));
            }
            add(spelt, id, *bytes);
            ids_.emplace(spelt, id.get<TokenId>());
        }
    }

    /// One that no merge makes, spelt as it is.
    void add_special(const std::string& text, const json& id) {
        const auto known = ids_.find(text);
        if (known == ids_.end() || id != known->second) {
            add(text, id, text);
            special_.push_back(id.get<TokenId>());
        }
    }

    void add_merge(std::string_view left, std::string_view right, const std::string& line) {
        const Merge merge{id_of(left, line), id_of(right, line), id_of(std::string(left).append(right), line)};
        merges_.push_back(merge);
        lines_.push_back(line);
    }

    [[nodiscard]] BytePairs take(const std::string& where_merges, BytePairs::Words words) && {
        const auto missing = std::ranges::find(is_known_, false);
        if (missing != is_known_.end()) {
            refuse_tokens(
                "E-TOK-056", where_,
                fmt::format("no token has the id {}, of {} tokens", missing - is_known_.begin(), tokens_.size()));
        }
        std::array<bool, 256> has_byte{};
        for (const auto& [spelt, id] : ids_) {
            if (tokens_[id].size() == 1) {
                has_byte[static_cast<unsigned char>(tokens_[id][0])] = true;
            }
        }
        const auto* const absent = std::ranges::find(has_byte, false);
        if (absent != has_byte.end()) {
            refuse_tokens("E-TOK-059", where_, fmt::format("no token for byte 0x{:02X}", absent - has_byte.begin()));
        }
        const std::size_t repeated = BytePairs::first_repeated(merges_);
        if (repeated < merges_.size()) {
            refuse_tokens("E-TOK-057", where_merges,
                          fmt::format("{}: joins what a merge before it joins", lines_[repeated]));
        }
        return {std::move(tokens_), merges_, special_, words};
    }

private:
    void add(const std::string& spelt, const json& id, const std::string& bytes) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens_.size()) {
            refuse_tokens("E-TOK-056", where_,
                          fmt::format("token {} has id {}, expected 0 to {}", quoted(spelt), escaped(id.dump()),
                                      tokens_.size() - 1));
        }
        const auto number = id.get<std::size_t>();
        if (is_known_[number]) {
            refuse_tokens("E-TOK-056", where_, fmt::format("two tokens have id {}; one is {}", number, quoted(spelt)));
        }
        is_known_[number] = true;
        tokens_[number] = bytes;
    }

    [[nodiscard]] TokenId id_of(std::string_view spelt, const std::string& line) const {
        const auto found = ids_.find(std::string(spelt));
        if (found == ids_.end()) {
            refuse_tokens("E-TOK-057", where_,
                          fmt::format("no token {}, which {} of the merges needs", quoted(spelt), line));
        }
        return found->second;
    }

    std::string where_;
    ByteAlphabet alphabet_;
    std::vector<std::string> tokens_;
    std::vector<bool> is_known_;
    std::unordered_map<std::string, TokenId> ids_;  // by what they are spelt like
    std::vector<TokenId> special_;
    std::vector<Merge> merges_;
    std::vector<std::string> lines_;  // "line 812"
};

/// "a b". Nothing if it is not two words.
std::optional<std::pair<std::string_view, std::string_view>> two_words(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return std::pair{line.substr(0, space), line.substr(space + 1)};
}

void add_lines(const std::string& text, const std::string& where, Vocabulary& to) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    std::size_t number = 0;
    for (std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        ++number;
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if ((number == 1 && line.starts_with("#version")) || (line.empty() && at >= text.size())) {
            continue;
        }
        const auto pair = two_words(line);
        if (!pair) {
            refuse_tokens(
                "E-TOK-057", where,
                fmt::format("line {}: got {}, expected two tokens and a space between them", number, quoted(line)));
        }
        to.add_merge(pair->first, pair->second, fmt::format("line {}", number));
    }
}

}  // namespace

Tokenizer Tokenizer::from_vocabulary(const std::filesystem::path& vocab, const std::filesystem::path& merges) {
    const SideFile vocab_file = read_side_file(vocab, token_errors, largest_file);
    const SideFile merges_file = read_side_file(merges, token_errors, largest_file);
    Vocabulary vocabulary(vocab_file.where);
    vocabulary.add_tokens(parse_json(vocab_file, token_errors), 0);
    add_lines(merges_file.text, merges_file.where, vocabulary);
    return Tokenizer(std::move(vocabulary).take(merges_file.where, BytePairs::Words::by_merges), {});
}

Tokenizer Tokenizer::from_json(const std::filesystem::path& path) {
    const SideFile file = read_side_file(path, token_errors, largest_file);
    const json all = parse_json(file, token_errors);
    TokenizerKind kind = tokenizer_kind_of(all, file.where);
    const json& model = member(all, "model");
    const json& added = member(all, "added_tokens");
    Vocabulary vocabulary(file.where);
    std::size_t more = 0;
    for (const json& token : added) {
        const json& text = member(token, "content");
        if (!text.is_string()) {
            refuse_tokens("E-TOK-056", file.where, "added_tokens holds one without a text as its content");
        }
        more += member(model, "vocab").contains(text.get<std::string>()) ? 0U : 1U;
    }
    vocabulary.add_tokens(member(model, "vocab"), more);
    for (const json& token : added) {
        vocabulary.add_special(member(token, "content").get<std::string>(), member(token, "id"));
    }
    std::size_t number = 0;
    for (const json& merge : member(model, "merges")) {
        const std::string line = fmt::format("model.merges[{}]", number++);
        const bool is_pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
        const auto pair = is_pair ? std::optional(std::pair(std::string_view(merge[0].get_ref<const std::string&>()),
                                                            std::string_view(merge[1].get_ref<const std::string&>())))
                          : merge.is_string() ? two_words(merge.get_ref<const std::string&>())
                                              : std::nullopt;
        if (!pair) {
            refuse_tokens("E-TOK-057", file.where,
                          fmt::format("{}: got {}, expected two tokens", line, escaped(merge.dump())));
        }
        vocabulary.add_merge(pair->first, pair->second, line);
    }
    BytePairs pairs = std::move(vocabulary).take(file.where, kind.known_words);
    for (const TokenId token : kind.beginning) {
        if (token >= pairs.size()) {
            refuse_tokens("E-TOK-056", file.where,
                          fmt::format("texts begin with token {}, of {} tokens", token, pairs.size()));
        }
    }
    return {std::move(pairs), std::move(kind)};
}

void Tokenizer::encode(std::string_view text, std::vector<TokenId>& to) const {
    const auto encode_word = [&](std::string_view word) { pairs_.encode(word, to); };
    const auto encode_text = [&](std::string_view piece) { splitter_.split(piece, encode_word); };
    const auto add_token = [&](TokenId token) { to.push_back(token); };
    cutter_.cut(text, encode_text, add_token);
}

void Tokenizer::decode(std::span<const TokenId> tokens, std::string& to) const {
    for (const TokenId token : tokens) {
        to += pairs_.bytes(token);
    }
}

}  // namespace sluice::gpt2
