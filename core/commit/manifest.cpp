#include "core/commit/manifest.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/attempt_journal.hpp"
#include "core/commit/file.hpp"
#include "core/commit/json_text.hpp"
#include "core/commit/owner.hpp"
#include "core/commit/run_identity.hpp"
#include "core/error.hpp"
#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t manifest_version = 1;
constexpr std::size_t most_manifest_bytes = std::size_t{1} << 30;

std::uint64_t parse_checksum(const std::string& text) {
    std::uint64_t checksum = 0;
    std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
    return checksum;
}

std::uint64_t sum_of(const std::vector<PublishedPart>& parts, std::uint64_t SealedPart::*member) {
    return std::transform_reduce(parts.begin(), parts.end(), std::uint64_t{0}, std::plus(),
                                 [&](const PublishedPart& part) { return part.sealed.*member; });
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
    for (const Json& input : json.value("inputs", Json::array())) {  // of an earlier version: none
        manifest.notes.inputs.push_back({.path = input.at("path"),
                                         .bytes = input.at("bytes"),
                                         .first_item = input.at("first_item"),
                                         .items = input.at("items")});
    }
    for (const auto& [name, value] : json.at("provenance").items()) {
        manifest.notes.provenance.emplace_back(name, value.get<std::string>());
    }
    return manifest;
}

[[noreturn]] void refuse_unfinished(const RunPaths& paths) {
    const std::optional<Owner> writer = glimpse_newest_owner(paths, this_process({}, 0));
    throw Error(ExitCode::no_input,
                {.id = "E-OUT-111",
                 .where = escaped(paths.output.native()),
                 .what = writer ? fmt::format("is not complete: it is still being written by {}", describe(*writer))
                                : std::string("is not complete: there is no manifest"),
                 .hint = writer ? fmt::format("wait for it: `{} status` shows how far it is", program_name())
                                : std::string("run its job again to finish it")});
}

void compare_with_identity(const Manifest& manifest, const RunPaths& paths, Verification& verification) {
    const std::optional<RunIdentity> identity = read_run_identity(paths);
    if (!identity) {
        verification.problems.emplace_back("job.json: missing");
    } else if (fingerprint(*identity) != manifest.fingerprint || identity->items != manifest.items()) {
        verification.problems.emplace_back("MANIFEST.json: of another job than job.json");
    }
}

std::map<std::string, std::uint64_t> sizes_of_files(const Manifest& manifest) {
    std::map<std::string, std::uint64_t> sizes;
    for (const PublishedPart& part : manifest.parts) {
        sizes[part.file] += part.sealed.bytes;
    }
    return sizes;
}

void verify_part(const PublishedPart& part, const File& file, Verification& verification) {
    const auto checksum = checksum_in(file, part.offset, part.sealed.bytes);
    if (!checksum) {
        verification.problems.push_back(
            fmt::format("{}: ends before byte {}", escaped(part.file), part.offset + part.sealed.bytes));
    } else if (*checksum != part.sealed.checksum) {
        verification.problems.push_back(fmt::format("{}: bytes {} to {} have checksum {}, expected {}",
                                                    escaped(part.file), part.offset, part.offset + part.sealed.bytes,
                                                    hexadecimal(*checksum), hexadecimal(part.sealed.checksum)));
    }
    ++verification.parts;
    verification.bytes += part.sealed.bytes;
    verification.items += part.sealed.items;
}

}  // namespace

std::uint64_t Manifest::items() const {
    return sum_of(parts, &SealedPart::items);
}

std::uint64_t Manifest::nonfinite() const {
    return sum_of(parts, &SealedPart::nonfinite);
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
    Json inputs = Json::array();
    for (const PublishedInput& input : manifest.notes.inputs) {
        inputs.push_back({{"path", json_safe(input.path)},
                          {"bytes", input.bytes},
                          {"first_item", input.first_item},
                          {"items", input.items}});
    }
    Json provenance = Json::object();
    for (const auto& [name, value] : manifest.notes.provenance) {
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
                        {"inputs", inputs},
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
                 .hint = "remove it and run its job again, which checks or recomputes the output"});
}

void check_published_sizes(const RunPaths& paths, const Manifest& manifest) {
    for (const auto& [name, size] : sizes_of_files(manifest)) {
        const std::filesystem::path path = paths.published_folder() / name;
        const auto status = status_of(path);
        const bool is_file = status && S_ISREG(status->st_mode);
        if (!is_file || static_cast<std::uint64_t>(status->st_size) != size) {
            throw Error(ExitCode::checkpoint_damaged,
                        {.id = "E-CKP-088",
                         .where = escaped(path.native()),
                         .what = is_file ? fmt::format("has {} bytes, but was published with {}", status->st_size, size)
                                         : std::string("was published, but is missing"),
                         .hint = status ? fmt::format("restore it, or remove {} and {} to recompute it",
                                                      quoted(path.native()), quoted(paths.manifest().native()))
                                        : fmt::format("restore it, or remove {} to recompute it",
                                                      quoted(paths.manifest().native()))});
        }
    }
}

std::vector<std::string> missing_files(const RunPaths& paths, const Manifest& manifest) {
    std::vector<std::string> missing;
    for (const auto& [name, size] : sizes_of_files(manifest)) {
        if (!status_of(paths.published_folder() / name)) {
            missing.push_back(name);
        }
    }
    return missing;
}

Verification verify_output(const RunPaths& paths, const std::function<void(const ItemCount&)>& on_progress) {
    const std::optional<Manifest> manifest = read_manifest(paths);
    if (!manifest) {
        refuse_unfinished(paths);
    }
    Verification verification;
    compare_with_identity(*manifest, paths, verification);
    for (const PublishedPart& part : manifest->parts) {
        if (on_progress) {
            on_progress({.done = verification.items, .total = manifest->items()});
        }
        const std::optional<File> file = File::open_if_there(paths.published_folder() / part.file);
        if (file) {
            verify_part(part, *file, verification);
        }
    }
    for (const auto& [name, size] : sizes_of_files(*manifest)) {
        const std::optional<File> file = File::open_if_there(paths.published_folder() / name);
        if (!file) {
            verification.problems.push_back(fmt::format("{}: missing", escaped(name)));
        } else if (file->size() > size) {
            verification.problems.push_back(
                fmt::format("{}: has {} bytes, expected {}", escaped(name), file->size(), size));
        }
    }
    return verification;
}

void require_intact(const Verification& verification, const RunPaths& paths) {
    if (verification.problems.empty()) {
        return;
    }
    throw Error(
        ExitCode::checkpoint_damaged,
        {.id = "E-CKP-088",
         .where = escaped(paths.output.native()),
         .what = fmt::format("is not what was published ({} of {} checks failed); {}", verification.problems.size(),
                             verification.parts + 1, verification.problems.front()),
         .hint = "restore a copy, or remove the output and the run's folder to recompute it"});
}

}  // namespace sluice
