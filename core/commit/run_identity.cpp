#include "core/commit/run_identity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/commit/file.hpp"
#include "core/commit/json_text.hpp"
#include "core/commit/place_file.hpp"
#include "core/error.hpp"
#include "core/files/checksum.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t format_version = 1;
constexpr std::size_t most_identity_bytes = std::size_t{64} << 20;  // a digest for each file of the input

const char* name_of(OutputLayout layout) {
    return layout == OutputLayout::file ? "file" : "folder";
}

/// All of it under its names.
std::map<std::string, std::string> values_of(const RunIdentity& identity) {
    std::map<std::string, std::string> values{{"items", std::to_string(identity.items)},
                                              {"chunk_items", std::to_string(identity.chunk_items)},
                                              {"chunks_per_part", std::to_string(identity.chunks_per_part)},
                                              {"layout", name_of(identity.layout)}};
    for (const auto& [name, value] : identity.settings) {
        const bool fresh = values.emplace(json_safe(name), json_safe(value)).second;
        expects(fresh, "a run's identity has each setting once");
    }
    return values;
}

/// Of the setting `name`, which is removed; "" if there is none.
std::string take(std::map<std::string, std::string>& values, std::string_view name) {
    const auto node = values.extract(std::string(name));
    return node.empty() ? std::string() : node.mapped();
}

/// The first place of file number `file` of `of` among the files of `among` from that number on, if it is there.
std::optional<std::size_t> place_of(const std::string& of, std::size_t file, const std::string& among) {
    const std::string_view digest = std::string_view(of).substr(file * input_digest_length, input_digest_length);
    for (std::size_t i = file; !digest.empty() && i * input_digest_length < among.size(); ++i) {
        if (std::string_view(among).substr(i * input_digest_length, input_digest_length) == digest) {
            return i;
        }
    }
    return std::nullopt;
}

/// What file number `file` of `now`, the first that differs, was in `was`.
std::string history_of(const std::string& was, const std::string& now, std::size_t file) {
    if (const auto place = place_of(now, file, was)) {
        return fmt::format("was file {}", *place + 1);
    }
    const bool is_new = file * input_digest_length == was.size() || place_of(was, file, now);
    return is_new ? "was not there" : "has other content";
}

/// By the digests of two runs of several files each; `is` names the files of the second one.
std::string difference_of_files(const std::string& was, const std::string& now, const RunIdentity& is) {
    if (was == now || was.empty() || now.empty()) {  // if one has a single file, its input says so
        return {};
    }
    const auto first = std::ranges::mismatch(was, now).in2 - now.begin();
    const auto file = static_cast<std::size_t>(first) / input_digest_length;
    if (file >= is.input_files.size()) {
        return fmt::format("input file {} (was there, is missing)", file + 1);
    }
    return fmt::format("input file {}, {} ({})", file + 1, quoted(is.input_files[file].native()),
                       history_of(was, now, file));
}

[[noreturn]] void refuse_damaged(const std::filesystem::path& where) {
    throw Error(ExitCode::checkpoint_damaged,
                {.id = "E-CKP-085",
                 .where = escaped(where.native()),
                 .what = "is damaged: the job that the run was started with is no longer known",
                 .hint = "remove the run's folder to start over, or choose another [output].path"});
}

}  // namespace

std::string fingerprint(const RunIdentity& identity) {
    Json values = values_of(identity);
    values["version"] = format_version;
    return fingerprint_of(values.dump());
}

std::vector<std::string> differences(const RunIdentity& was, const RunIdentity& is) {
    std::map<std::string, std::string> before = values_of(was);
    std::map<std::string, std::string> after = values_of(is);
    std::vector<std::string> differing;
    const std::string files = difference_of_files(take(before, input_digests), take(after, input_digests), is);
    if (!files.empty()) {
        differing.push_back(files);
    }
    for (const auto& [name, value] : before) {
        const auto other = after.find(name);
        if (other == after.end()) {
            differing.push_back(fmt::format("{} (was {}, is not set)", escaped(name), quoted(value)));
        } else if (other->second != value) {
            differing.push_back(fmt::format("{} (was {}, is {})", escaped(name), quoted(value), quoted(other->second)));
        }
    }
    for (const auto& [name, value] : after) {
        if (!before.contains(name)) {
            differing.push_back(fmt::format("{} (was not set, is {})", escaped(name), quoted(value)));
        }
    }
    const auto is_of = [](std::string_view name) {
        return [name](std::string_view text) {
            return text.starts_with(name) && text.substr(name.size()).starts_with(" (");
        };
    };
    if (std::ranges::any_of(differing, is_of("run.device"))) {  // each kind of device has one of them
        std::erase_if(differing, is_of("run.gpu"));
        std::erase_if(differing, is_of("run.instructions"));
    }
    if (differing.size() > 1) {  // it follows from items, chunk size and row size, and says nothing beside them
        std::erase_if(differing, is_of("chunks_per_part"));
    }
    return differing;
}

std::string encode(const RunIdentity& identity) {
    Json settings = Json::object();
    for (const auto& [name, value] : identity.settings) {
        settings[json_safe(name)] = json_safe(value);
    }
    return sealed_text({{"format", "sluice run"},
                        {"version", format_version},
                        {"fingerprint", fingerprint(identity)},
                        {"layout", name_of(identity.layout)},
                        {"items", identity.items},
                        {"chunk_items", identity.chunk_items},
                        {"chunks_per_part", identity.chunks_per_part},
                        {"settings", settings}});
}

RunIdentity decode_run_identity(const std::string& text, const std::filesystem::path& where) {
    const std::optional<Json> json = open_sealed_text(text);
    if (!json) {
        refuse_damaged(where);
    }
    RunIdentity identity;
    try {
        check_version(*json, format_version, where);
        identity.layout = json->at("layout") == name_of(OutputLayout::file) ? OutputLayout::file : OutputLayout::folder;
        identity.items = json->at("items");
        identity.chunk_items = json->at("chunk_items");
        identity.chunks_per_part = json->at("chunks_per_part");
        for (const auto& [name, value] : json->at("settings").items()) {
            identity.settings.emplace_back(name, value.get<std::string>());
        }
    } catch (const nlohmann::json::exception&) {  // valid by its checksum, but something else
        refuse_damaged(where);
    }
    if (encode(identity) != text) {
        refuse_damaged(where);
    }
    return identity;
}

std::optional<RunIdentity> read_run_identity(const RunPaths& paths) {
    const std::optional<std::string> text = read_text(paths.identity(), most_identity_bytes);
    return text ? std::optional(decode_run_identity(*text, paths.identity())) : std::nullopt;
}

void check_same_run(const RunPaths& paths, const RunIdentity& begun, const RunIdentity& identity) {
    const std::vector<std::string> differing = differences(begun, identity);
    if (!differing.empty()) {
        throw Error(ExitCode::configuration,
                    {.id = "E-CKP-090",
                     .where = escaped(paths.run_folder().native()),
                     .what = fmt::format("an unfinished run of another job was found there; differences: {}",
                                         fmt::join(differing, ", ")),
                     .hint = "undo the change to resume it, remove the folder to start over, or choose another "
                             "[output].path"});
    }
}

void establish_run_identity(const RunPaths& paths, const RunIdentity& identity) {
    std::optional<RunIdentity> begun;
    while (!begun) {  // an attempt that gives up an empty run may take it away in between
        if (!status_of(paths.identity())) {
            // Who was quicker is compared with below.
            static_cast<void>(place_text(encode(identity), paths.identity(), paths.run_folder()));
        }
        begun = read_run_identity(paths);
    }
    check_same_run(paths, *begun, identity);
}

}  // namespace sluice
