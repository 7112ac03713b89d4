#include "core/commit/json_text.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/text/utf8.hpp"

namespace sluice {
namespace {

constexpr const char* checksum_key = "checksum";
constexpr int indent = 2;

}  // namespace

std::string json_safe(std::string_view text) {
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        } else {
            safe += text.substr(at, length);
        }
        at += length == 0 ? 1 : length;
    }
    return safe;
}

std::string sealed_text(Json json) {
    json[checksum_key] = fingerprint_of(json.dump());
    return json.dump(indent) + "\n";
}

std::optional<Json> open_sealed_text(std::string_view text) {
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains(checksum_key)) {
        return std::nullopt;
    }
    json.erase(checksum_key);
    return sealed_text(json) == text ? std::optional(json) : std::nullopt;
}

void check_version(const Json& json, std::uint64_t known, const std::filesystem::path& where) {
    const Json& version = json.at("version");
    if (version == known) {
        return;
    }
    const bool is_newer = version.is_number_unsigned() && version.get<std::uint64_t>() > known;
    throw Error(ExitCode::configuration,
                {.id = "E-CKP-089",
                 .where = escaped(where.native()),
                 .what = fmt::format("was written {} (format {}, expected {})",
                                     is_newer ? "by a newer sluice" : "in a form that is not known",
                                     escaped(version.dump()), known),
                 .hint = "use the version that wrote it, or a later one"});
}

}  // namespace sluice
