#include "apps/gpt2/gpt2_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::uint32_t no_tokens = UINT32_MAX;  // of a continuation that is missing
constexpr std::string_view unknown_token = "\uFFFD";

ContinuationStart start_of(std::span<const std::byte> result) {
    ContinuationStart start;
    std::memcpy(&start, result.data(), sizeof start);
    return start;
}

template <class Value>
std::vector<Value> values_at(std::span<const std::byte> bytes, std::size_t count) {
    std::vector<Value> values(count);
    std::ranges::copy(bytes.first(count * sizeof(Value)), std::as_writable_bytes(std::span(values)).begin());
    return values;
}

}  // namespace

Gpt2Codec::Gpt2Codec(const Options& options, std::optional<Tokenizer> tokenizer, std::optional<TokenId> begin,
                     std::uint32_t vocabulary)
    : options_(options), tokenizer_(std::move(tokenizer)), begin_(begin), vocabulary_(vocabulary) {
    expects(tokenizer_.has_value() || (options.takes_ids && options.gives_ids), "gpt2: texts without a tokenizer");
    expects(
        options.sampling.log_probabilities || !(options.gives_log_probability || options.gives_token_log_probabilities),
        "gpt2: log-probabilities that are not computed");
}

Gpt2Codec::Prompt Gpt2Codec::prompt_of(std::string_view text) const {
    Prompt prompt;
    if (options_.takes_ids) {
        prompt = ids_of(text);
    } else {
        const std::span<const TokenId> beginning = tokenizer_->beginning();
        prompt.tokens.assign(beginning.begin(), beginning.end());
        prompt.beginning = beginning.size();
        tokenizer_->encode(text, prompt.tokens);
        if (const auto high = std::ranges::find_if(prompt.tokens, [&](TokenId id) { return id >= vocabulary_; });
            high != prompt.tokens.end()) {
            prompt.problem = {
                .what = fmt::format("the tokenizer gives token {}, and the model has {}: they are not of one model",
                                    *high, vocabulary_),
                .hint = "name the model's own tokenizer as model.tokenizer, or its model.vocabulary and model.merges"};
        }
    }
    begin_empty(prompt);
    return prompt;
}

void Gpt2Codec::begin_empty(Prompt& prompt) const {
    if (!prompt.tokens.empty() || prompt.problem) {
        return;
    }
    if (begin_) {
        prompt.tokens.push_back(*begin_);
    } else {
        prompt.problem.what = "the prompt is empty, and config.json has no bos_token_id to begin with";
    }
}

/// A row ends before its first negative number; then come no others.
Gpt2Codec::Prompt Gpt2Codec::ids_of(std::span<const std::int64_t> row) const {
    Prompt prompt;
    const auto end = std::ranges::find_if(row, [](std::int64_t value) { return value < 0; });
    for (auto at = row.begin(); at != row.end(); ++at) {
        const bool is_behind = at >= end;
        if (is_behind ? *at >= 0 : *at >= vocabulary_) {
            // The file may hold a larger one.
            const char* const or_more = *at == std::numeric_limits<std::int64_t>::max() ? " or more" : "";
            prompt.problem.what = fmt::format("column {} is {}{}, ", at - row.begin(), *at, or_more) +
                                  (is_behind ? "behind a negative number, which ends the prompt"
                                             : fmt::format("expected a token id, 0 to {}", vocabulary_ - 1));
            return prompt;
        }
        if (!is_behind) {
            prompt.tokens.push_back(static_cast<TokenId>(*at));
        }
    }
    begin_empty(prompt);
    return prompt;
}

Gpt2Codec::Prompt Gpt2Codec::ids_of(std::string_view text) const {
    Prompt prompt;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        at = std::find_if(at, end, [](char c) { return c != ' '; });
        if (at == end) {
            return prompt;
        }
        const char* const word = std::find(at, end, ' ');
        TokenId id = 0;
        const auto [stop, error] = std::from_chars(at, word, id);
        if (error != std::errc() || stop != word || id >= vocabulary_) {
            prompt.problem = {.what = fmt::format("{} is no token id, expected 0 to {}",
                                                  quoted(std::string_view(at, word)), vocabulary_ - 1),
                              .hint = "correct the item, or set generate.prompts = \"text\""};
            return prompt;
        }
        prompt.tokens.push_back(id);
        at = word;
    }
}

ItemProblem Gpt2Codec::check_text(std::string_view text) const {
    const std::uint32_t most = options_.sampling.max_prompt;
    const bool is_surely_sound = !options_.takes_ids && !text.empty() && tokenizer_->size() <= vocabulary_ &&
                                 tokenizer_->beginning().size() + tokenizer_->most_tokens(text.size()) <= most;
    return is_surely_sound ? ItemProblem() : problem_of(prompt_of(text));
}

ItemProblem Gpt2Codec::problem_of(const Prompt& prompt) const {
    const std::uint32_t most = options_.sampling.max_prompt;
    if (!prompt.problem && prompt.tokens.size() > most && !options_.cuts_prompts) {
        return {.what = fmt::format("the prompt has {} tokens, expected at most generate.max_prompt_tokens = {}",
                                    prompt.tokens.size(), most),
                .hint = "raise generate.max_prompt_tokens, set generate.long_prompts = \"cut\", or shorten the item"};
    }
    return prompt.problem;
}

void Gpt2Codec::encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const {
    pack(item, prompt_of(text), to);
}

ItemProblem Gpt2Codec::pack_integers(std::uint64_t item, std::span<const std::int64_t> row,
                                     std::span<std::byte> to) const {
    if (!options_.takes_ids) {
        return {.what = "numbers are token ids, and generate.prompts says \"text\"",
                .hint = "set generate.prompts = \"ids\", or name a file of texts as input.path"};
    }
    const Prompt prompt = ids_of(row);
    ItemProblem problem = problem_of(prompt);
    if (!problem) {
        pack(item, prompt, to);
    }
    return problem;
}

/// Of a prompt that is too long, its beginning and its last tokens.
void Gpt2Codec::pack(std::uint64_t item, const Prompt& prompt, std::span<std::byte> to) const {
    const std::span<const TokenId> tokens = prompt.tokens;
    const std::size_t count = std::min<std::size_t>(tokens.size(), options_.sampling.max_prompt);
    const PromptStart start{
        .number = item, .tokens = static_cast<std::uint32_t>(count), .is_cut = count < tokens.size() ? 1U : 0U};
    const auto beginning = std::as_bytes(tokens.first(std::min(prompt.beginning, count)));
    const auto end = std::as_bytes(tokens.last(count - beginning.size() / sizeof(TokenId)));
    std::ranges::fill(to, std::byte{0});
    std::memcpy(to.data(), &start, sizeof start);
    std::ranges::copy(beginning, to.subspan(sizeof start).begin());
    std::ranges::copy(end, to.subspan(sizeof start + beginning.size()).begin());
}

std::vector<OutputField> Gpt2Codec::output_fields() const {
    std::vector<OutputField> fields;
    if (options_.gives_ids) {
        fields.push_back(
            {.name = "token", .type = FieldType::int32, .count = options_.sampling.max_new, .has_index = true});
    } else {
        fields.push_back({.name = "text", .type = FieldType::text});
    }
    fields.push_back({.name = "prompt_tokens", .type = FieldType::int32, .in_txt = false});
    fields.push_back({.name = "new_tokens", .type = FieldType::int32, .in_txt = false});
    if (options_.gives_log_probability) {
        fields.push_back({.name = "log_probability",
                          .type = FieldType::float32,
                          .in_txt = false,
                          .asked_by = "generate.log_probability"});
    }
    if (options_.gives_token_log_probabilities) {
        fields.push_back({.name = "token_log_probability",
                          .type = FieldType::float32,
                          .count = options_.sampling.max_new,
                          .in_txt = false,
                          .has_index = true,
                          .asked_by = "generate.token_log_probabilities"});
    }
    return fields;
}

/// Up to the first of the strings that stop it.
std::string Gpt2Codec::text_of(std::span<const TokenId> tokens) const {
    std::string text;
    for (const TokenId& token : tokens) {
        if (token < tokenizer_->size()) {
            tokenizer_->decode({&token, 1}, text);
        } else {
            text += unknown_token;
        }
    }
    std::size_t end = text.size();
    for (const std::string& stop : options_.stops) {
        end = std::min(end, text.find(stop));
    }
    text.resize(end);
    return text;
}

void Gpt2Codec::decode(std::span<const std::byte> result, Row& row) const {
    const ContinuationStart start = start_of(result);
    const std::uint32_t most = options_.sampling.max_new;
    if (start.tokens == no_tokens) {
        const std::uint32_t columns = (options_.gives_ids ? most : 1) + 2 + (options_.gives_log_probability ? 1 : 0) +
                                      (options_.gives_token_log_probabilities ? most : 0);
        for (std::uint32_t i = 0; i < columns; ++i) {
            row.missing();
        }
        return;
    }
    expects(start.tokens <= most, "gpt2: a continuation that is too long");
    const std::span<const std::byte> after_start = result.subspan(sizeof start);
    const std::vector<TokenId> tokens = values_at<TokenId>(after_start, start.tokens);
    if (options_.gives_ids) {
        for (std::uint32_t i = 0; i < most; ++i) {
            i < tokens.size() ? row.int32(static_cast<std::int32_t>(tokens[i])) : row.missing();
        }
    } else {
        row.text(text_of(tokens));
    }
    row.int32(static_cast<std::int32_t>(start.prompt));
    row.int32(static_cast<std::int32_t>(start.tokens));
    if (options_.sampling.log_probabilities) {
        decode_log_probabilities(values_at<float>(after_start.subspan(most * sizeof(TokenId)), start.tokens), row);
    }
}

void Gpt2Codec::decode_log_probabilities(std::span<const float> values, Row& row) const {
    if (options_.gives_log_probability) {
        row.float32(static_cast<float>(std::accumulate(values.begin(), values.end(), 0.0)));
    }
    if (options_.gives_token_log_probabilities) {
        for (std::uint32_t i = 0; i < options_.sampling.max_new; ++i) {
            i < values.size() ? row.float32(values[i]) : row.missing();
        }
    }
}

std::uint64_t Gpt2Codec::nonfinite(std::span<const std::byte> results) const {
    std::uint64_t count = 0;
    for (; !results.empty(); results = results.subspan(shape().output_bytes)) {
        count += start_of(results).nonfinite;
    }
    return count;
}

void Gpt2Codec::write_missing(std::span<std::byte> result) const {
    const ContinuationStart start{.tokens = no_tokens};
    std::ranges::fill(result, std::byte{0});
    std::memcpy(result.data(), &start, sizeof start);
}

}  // namespace sluice::gpt2
