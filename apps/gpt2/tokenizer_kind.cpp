#include "apps/gpt2/tokenizer_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_kind(const std::string& where, std::string what) {
    throw Error(
        ExitCode::bad_data,
        {.id = "E-TOK-058",
         .where = where,
         .what = std::move(what),
         .hint = "give and take token ids: set generate.prompts and generate.results to \"ids\"; or, of a GPT-2, "
                 "name model.vocabulary and model.merges"});
}

/// Llama 3's and Qwen 2's differ in how many digits make a word.
constexpr const char* expression_with_digits =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

bool is_byte_level(const json& step) {
    return member(step, "type") == "ByteLevel" && member(step, "add_prefix_space") != true;
}

/// "Split" by an expression, then "ByteLevel".
bool splits_by(const json& splitting, const std::string& expression) {
    const json& steps = member(splitting, "pretokenizers");
    if (member(splitting, "type") != "Sequence" || !steps.is_array() || steps.size() != 2) {
        return false;
    }
    const json& split = steps[0];
    return member(split, "type") == "Split" && member(member(split, "pattern"), "Regex") == expression &&
           member(split, "behavior") == "Isolated" && member(split, "invert") != true && is_byte_level(steps[1]) &&
           member(steps[1], "use_regex") == false;
}

WordPattern words_of(const json& splitting, const std::string& where) {
    if (is_byte_level(splitting) && member(splitting, "use_regex") != false) {
        return WordPattern::gpt2;
    }
    if (splits_by(splitting, fmt::format(expression_with_digits, R"(\p{N}{1,3})"))) {
        return WordPattern::llama3;
    }
    if (splits_by(splitting, fmt::format(expression_with_digits, R"(\p{N})"))) {
        return WordPattern::qwen2;
    }
    refuse_kind(where, "pre_tokenizer is none of GPT-2's, Llama 3's and Qwen 2's");
}

bool composes(const json& normalizer, const std::string& where) {
    if (normalizer.is_null()) {
        return false;
    }
    if (member(normalizer, "type") != "NFC") {
        refuse_kind(where, fmt::format("normalizer is {}, expected null or \"NFC\"",
                                       escaped(member(normalizer, "type").dump())));
    }
    return true;
}

/// Refuses what would make other tokens of a word.
BytePairs::Words known_words_of(const json& model, const std::string& where) {
    // The published file is older than this key.
    if (const json& type = member(model, "type"); !type.is_null() && type != "BPE") {
        refuse_kind(where, fmt::format("model.type is {}, expected \"BPE\"", escaped(type.dump())));
    }
    for (const char* const name : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
        const json& value = member(model, name);
        const bool says_nothing = value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
        if (!says_nothing) {
            refuse_kind(where, fmt::format("model.{} is {}, expected null", name, escaped(value.dump())));
        }
    }
    if (const json& value = member(model, "byte_fallback"); !value.is_null() && value != false) {
        refuse_kind(where, fmt::format("model.byte_fallback is {}, expected false", escaped(value.dump())));
    }
    const json& whole = member(model, "ignore_merges");
    if (!whole.is_null() && !whole.is_boolean()) {
        refuse_kind(where, fmt::format("model.ignore_merges is {}, expected true or false", escaped(whole.dump())));
    }
    return whole == true ? BytePairs::Words::whole : BytePairs::Words::by_merges;
}

/// Tokens that a "TemplateProcessing" puts before a text; it may put none behind it.
std::vector<TokenId> beginning_of(const json& processor, const std::string& where) {
    std::vector<TokenId> beginning;
    const json& parts = member(processor, "single");
    if (!parts.is_array() || parts.empty() || member(member(parts.back(), "Sequence"), "id") != "A") {
        refuse_kind(where, "post_processor puts something else than tokens before a text");
    }
    for (auto part = parts.begin(); part + 1 != parts.end(); ++part) {
        const json& name = member(member(*part, "SpecialToken"), "id");
        const json& token =
            name.is_string() ? member(member(processor, "special_tokens"), name.get_ref<const std::string&>()) : name;
        const json& ids = member(token, "ids");
        const auto is_id = [](const json& id) {
            return id.is_number_unsigned() && id.get<std::uint64_t>() < UINT32_MAX;
        };
        if (!ids.is_array() || ids.empty() || !std::ranges::all_of(ids, is_id)) {
            refuse_kind(where, fmt::format("post_processor has no ids for {}", escaped(name.dump())));
        }
        std::ranges::transform(ids, std::back_inserter(beginning), [](const json& id) { return id.get<TokenId>(); });
    }
    return beginning;
}

/// Of all post-processors.
std::vector<TokenId> beginnings_of(const json& after, const std::string& where) {
    const json& type = member(after, "type");
    if (after.is_null() || type == "ByteLevel") {
        return {};
    }
    if (type == "TemplateProcessing") {
        return beginning_of(after, where);
    }
    const json& processors = member(after, "processors");
    if (type != "Sequence" || !processors.is_array()) {
        refuse_kind(where, fmt::format("post_processor is {}, expected \"ByteLevel\" or \"TemplateProcessing\"",
                                       escaped(type.dump())));
    }
    std::vector<TokenId> beginning;
    for (const json& each : processors) {
        if (member(each, "type") == "Sequence") {
            refuse_kind(where, "post_processor has sequences within a sequence");
        }
        const std::vector<TokenId> more = beginnings_of(each, where);
        beginning.insert(beginning.begin(), more.begin(), more.end());
    }
    return beginning;
}

/// Special tokens are not recognised in texts, others are.
std::vector<AddedToken> added_of(const json& tokens, bool composes, const std::string& where) {
    std::vector<AddedToken> added;
    std::optional<bool> first_is_normalized;
    for (const json& token : tokens) {
        if (member(token, "special") != false) {
            continue;
        }
        const json& text = member(token, "content");
        const json& id = member(token, "id");
        for (const char* const name : {"single_word", "lstrip", "rstrip"}) {
            if (member(token, name) == true) {
                refuse_kind(where, fmt::format("added_tokens has {} with {}", escaped(text.dump()), name));
            }
        }
        const bool is_normalized = member(token, "normalized") == true;  // found after those that are not
        if (is_normalized && composes) {
            refuse_kind(where,
                        fmt::format("added_tokens has {}, which is found in normalised texts", escaped(text.dump())));
        }
        if (is_normalized != first_is_normalized.value_or(is_normalized)) {
            refuse_kind(where, "added_tokens that are not special are normalized in part");
        }
        first_is_normalized = is_normalized;
        if (text.is_string() && !text.get_ref<const std::string&>().empty() && id.is_number_unsigned()) {
            added.push_back({text.get<std::string>(), id.get<TokenId>()});
        }
    }
    return added;
}

}  // namespace

TokenizerKind tokenizer_kind_of(const json& file, const std::string& where) {
    const json& model = member(file, "model");
    const json& added = member(file, "added_tokens");
    TokenizerKind kind;
    kind.known_words = known_words_of(model, where);
    if (!member(model, "merges").is_array() || !(added.is_null() || added.is_array())) {
        refuse_kind(where, "model.merges or added_tokens is no list");
    }
    if (const json& type = member(member(file, "decoder"), "type"); !type.is_null() && type != "ByteLevel") {
        refuse_kind(where, fmt::format("decoder is {}, expected \"ByteLevel\"", escaped(type.dump())));
    }
    kind.words = words_of(member(file, "pre_tokenizer"), where);
    kind.composes = composes(member(file, "normalizer"), where);
    kind.beginning = beginnings_of(member(file, "post_processor"), where);
    kind.added = added_of(added, kind.composes, where);
    return kind;
}

const json& member(const json& object, std::string_view name) {
    static const json null;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : null;
}

}  // namespace sluice::gpt2
