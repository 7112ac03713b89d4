#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::gpt2 {

/// Refuses a tokenizer.json that tokenizes differently from GPT-2's byte-level BPE: throws Error (bad_data: E-TOK-058).
/// `where` is for messages.
void check_tokenizer_kind(const nlohmann::json& file, const std::string& where);

/// Member `name` of `object`; null if there is none or `object` is not an object.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* name);

}  // namespace sluice::gpt2
