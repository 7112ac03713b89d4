#include "apps/gpt2/tokenizer_kind.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_kind(const std::string& where, std::string what) {
    throw Error(ExitCode::bad_data,
                {.id = "E-TOK-058",
                 .where = where,
                 .what = std::move(what),
                 .hint = "give and take token ids: set generate.prompts and generate.results to \"ids\""});
}

/// Refuses what would make other tokens of a word.
void check_model(const json& model, const std::string& where) {
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
    for (const char* const name : {"byte_fallback", "ignore_merges"}) {
        const json& value = member(model, name);
        if (!value.is_null() && value != false) {
            refuse_kind(where, fmt::format("model.{} is {}, expected false", name, escaped(value.dump())));
        }
    }
}

}  // namespace

void check_tokenizer_kind(const json& file, const std::string& where) {
    const json& model = member(file, "model");
    const json& added = member(file, "added_tokens");
    check_model(model, where);
    if (!member(model, "merges").is_array() || !(added.is_null() || added.is_array())) {
        refuse_kind(where, "model.merges or added_tokens is no list");
    }
    for (const json& token : added) {
        if (member(token, "special") == false) {
            refuse_kind(where, fmt::format("added_tokens has {}, which is not special but one token in every text",
                                           escaped(member(token, "content").dump())));
        }
    }
    if (!member(file, "normalizer").is_null()) {
        refuse_kind(where, "has a normalizer; GPT-2's tokenizer has none");
    }
    const json& splitting = member(file, "pre_tokenizer");
    if (member(splitting, "type") != "ByteLevel" || member(splitting, "use_regex") == false ||
        member(splitting, "add_prefix_space") == true) {
        refuse_kind(where,
                    "pre_tokenizer is another than \"ByteLevel\" without a space put before texts, as GPT-2's is");
    }
    if (const json& after = member(file, "post_processor"); !after.is_null() && member(after, "type") != "ByteLevel") {
        refuse_kind(where, "has a post_processor that adds tokens; GPT-2's adds none");
    }
}

const json& member(const json& object, const char* name) {
    static const json null;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : null;
}

}  // namespace sluice::gpt2
