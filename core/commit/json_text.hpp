#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// A run's JSON files have a canonical form, so that every changed byte is noticed: each ends with a checksum of its
// members, and is compared with the text that its content would be written as.

using Json = nlohmann::ordered_json;

/// `text` with each byte that is not valid UTF-8 as \xNN, since JSON cannot hold it.
[[nodiscard]] std::string json_safe(std::string_view text);

/// Text of the file: `json` with its checksum, indented.
[[nodiscard]] std::string sealed_text(Json json);

/// Inverse, without the checksum; nullopt: damaged.
[[nodiscard]] std::optional<Json> open_sealed_text(std::string_view text);

/// Throws Error (configuration, E-CKP-089) unless the file's "version" is `known`, Json::exception when it has none.
void check_version(const Json& json, std::uint64_t known, const std::filesystem::path& where);

}  // namespace sluice
