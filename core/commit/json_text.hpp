#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// The JSON files of a run are written in one way only, so that every byte that has changed since is noticed: each ends
// in a checksum of its members, and is compared with what its own contents would be written as.

using Json = nlohmann::ordered_json;

/// `text` with every byte that is no UTF-8 as \xNN, as JSON cannot hold it.
[[nodiscard]] std::string json_safe(std::string_view text);

/// The file's text: `json` with its checksum, indented.
[[nodiscard]] std::string sealed_text(Json json);

/// nullopt: damaged. The checksum is left out.
[[nodiscard]] std::optional<Json> open_sealed_text(std::string_view text);

/// Throws Error (configuration, E-CKP-089) unless the file's "version" is `known`, Json::exception when it has none.
void check_version(const Json& json, std::uint64_t known, const std::filesystem::path& where);

}  // namespace sluice
