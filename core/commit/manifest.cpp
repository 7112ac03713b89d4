#include "core/commit/manifest.hpp"

#include <charconv>

#include "core/commit/file.hpp"
#include "core/commit/json_text.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t manifest_version = 1;
constexpr std::size_t most_manifest_bytes = std::size_t{1} << 30;

std::uint64_t parse_checksum(const std::string& text) {
    std::uint64_t checksum = 0;
    std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
    return checksum;
}

Json json_of(const PublishedPart& part) {
    return {{"file", json_safe(part.file)}, {"offset", part.offset},
            {"bytes", part.sealed.bytes},   {"xxh3", hexadecimal(part.sealed.checksum)},
            {"items", part.sealed.items},   {"nonfinite", part.sealed.nonfinite}};
}

Manifest manifest_of(const Json& json, const RunPaths& paths) {
    Manifest manifest{.fingerprint = json.at("fingerprint"), .attempt = json.at("attempt"), .owner = json.at("owner")};
    for (const Json& part : json.at("parts")) {
        const auto number = static_cast<std::uint32_t>(manifest.parts.size());
        manifest.parts.push_back({.file = part.at("file"),
                                  .offset = part.at("offset"),
                                  .sealed = {.part = number,
                                             .bytes = part.at("bytes"),
                                             .checksum = parse_checksum(part.at("xxh3")),
                                             .items = part.at("items"),
                                             .nonfinite = part.at("nonfinite")}});
        // Names as they lie on disk: JSON cannot hold every one of them.
        if (paths.layout == OutputLayout::file) {
            manifest.parts.back().file = paths.published_name(number);
        }
    }
    if (const auto failed = json.find("failed_items"); failed != json.end()) {
        manifest.failed_items = failed->get<std::vector<std::uint64_t>>();
    }
    for (const auto& [name, value] : json.at("provenance").items()) {
        manifest.provenance.emplace_back(name, value.get<std::string>());
    }
    return manifest;
}

}  // namespace

std::uint64_t Manifest::items() const {
    std::uint64_t items = 0;
    for (const PublishedPart& part : parts) {
        items += part.sealed.items;
    }
    return items;
}

std::uint64_t Manifest::nonfinite() const {
    std::uint64_t nonfinite = 0;
    for (const PublishedPart& part : parts) {
        nonfinite += part.sealed.nonfinite;
    }
    return nonfinite;
}

std::vector<PublishedPart> lay_out(const RunPaths& paths, const std::vector<SealedPart>& parts) {
    std::vector<PublishedPart> published;
    std::uint64_t offset = 0;
    for (const SealedPart& part : parts) {
        published.push_back({.file = paths.published_name(part.part), .offset = offset, .sealed = part});
        offset += paths.layout == OutputLayout::file ? part.bytes : 0;
    }
    return published;
}

std::string encode(const Manifest& manifest) {
    Json parts = Json::array();
    for (const PublishedPart& part : manifest.parts) {
        parts.push_back(json_of(part));
    }
    Json provenance = Json::object();
    for (const auto& [name, value] : manifest.provenance) {
        provenance[json_safe(name)] = json_safe(value);
    }
    return sealed_text({{"format", "sluice manifest"},
                        {"version", manifest_version},
                        {"fingerprint", manifest.fingerprint},
                        {"attempt", manifest.attempt},
                        {"owner", manifest.owner},
                        {"items", manifest.items()},
                        {"nonfinite", manifest.nonfinite()},
                        {"failed_items", manifest.failed_items},
                        {"parts", parts},
                        {"provenance", provenance}});
}

std::optional<Manifest> read_manifest(const RunPaths& paths) {
    const std::optional<std::string> text = read_text(paths.manifest(), most_manifest_bytes);
    if (!text) {
        return std::nullopt;
    }
    try {
        if (const std::optional<Json> json = open_sealed_text(*text)) {
            check_version(*json, manifest_version, paths.manifest());
            return manifest_of(*json, paths);
        }
    } catch (const nlohmann::json::exception&) {  // valid by its checksum, but something else: said below
    }
    throw Error(ExitCode::checkpoint_damaged,
                {.id = "E-CKP-088",
                 .where = escaped(paths.manifest().native()),
                 .what = "is damaged: the output can no longer be checked",
                 .hint = "remove it and run the same command again, which checks or recomputes the output"});
}

}  // namespace sluice
