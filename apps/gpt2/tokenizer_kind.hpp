#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::gpt2 {

/// Refuses a tokenizer.json that would make other tokens than bytes, GPT-2's words and merges do: Error (bad_data:
/// E-TOK-058). `where`: for messages.
void check_tokenizer_kind(const nlohmann::json& file, const std::string& where);

/// Null where there is none, or `object` is none.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* name);

}  // namespace sluice::gpt2
