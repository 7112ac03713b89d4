#include "core/config/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>

#include <algorithm>
#include <array>

#include "core/config/rules.hpp"
#include "core/config/schema.hpp"
#include "core/config/text.hpp"
#include "core/config/value.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"
#include "core/text/program_name.hpp"
#include "core/text/utf8.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

/// A key or a section as it stands in the text.
struct Entry {
    std::string section;
    const toml::key* key = nullptr;
    const toml::node* node = nullptr;
};

std::string full_name_of(const Entry& entry) {
    return entry.section.empty() ? std::string(entry.key->str())
                                 : fmt::format("{}.{}", entry.section, entry.key->str());
}

/// What `table`, which is `section`, sets, and the sections in it. Sections are two deep at most.
void add_entries(const JobSchema& schema, const toml::table& table, const std::string& section,
                 std::vector<Entry>& entries) {
    for (const auto& [key, node] : table) {
        const bool dotted = key.str().find('.') != std::string_view::npos;  // a quoted key is no section
        const std::string name = full_name_of({section, &key, &node});
        if (node.is_table() && !dotted && schema.is_section(name)) {
            add_entries(schema, *node.as_table(), name, entries);
        } else {
            entries.push_back({section, &key, &node});
        }
    }
}

/// Everything that the document sets, in the order of its lines, so that the first mistake is the one reported.
std::vector<Entry> entries_of(const JobSchema& schema, const toml::table& document) {
    std::vector<Entry> entries;
    add_entries(schema, document, {}, entries);
    const auto place = [](const Entry& entry) {
        const toml::source_position begin = entry.key->source().begin;
        return std::pair(begin.line, begin.column);
    };
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
    return entries;
}

/// A key that only another app has.
void refuse_key_of_another_app(const JobSchema& schema, const std::string& full_name, const std::string& app,
                               const std::string& where) {
    if (const std::vector<std::string_view> owners = schema.other_owners_of(full_name); !owners.empty()) {
        refuse_job("E-CFG-018", where,
                   fmt::format("{} belongs to app{} '{}'; this job's app is {}", quoted(full_name),
                               owners.size() == 1 ? "" : "s", fmt::join(owners, "', '"), quoted(app)),
                   "remove the key, or change app");
    }
}

/// Where no name like it can be suggested.
std::string hint_for_unknown(const std::string& suggestion) {
    return suggestion.empty() ? fmt::format("`{} help keys` lists all keys", program_name()) : std::string();
}

[[noreturn]] void refuse_unknown(const JobSchema& schema, const Entry& entry, const std::string& where) {
    const std::string_view wrong = entry.key->str();
    if (const std::string section = full_name_of(entry); schema.is_section(section)) {
        refuse_job("E-CFG-010", where,
                   fmt::format("{}: got {}, expected a section [{}]", section, describe(*entry.node), section));
    }
    if (entry.section.empty() && (entry.node->is_table() || entry.node->is_array_of_tables())) {
        refuse_job("E-CFG-009", where,
                   fmt::format("unknown section {}{}", quoted(wrong), did_you_mean(wrong, schema.sections())));
    }
    const std::string suggestion = schema.suggest(entry.section, wrong);
    refuse_job("E-CFG-009", where,
               entry.section.empty()
                   ? fmt::format("unknown key {}{}", quoted(wrong), suggestion)
                   : fmt::format("unknown key {} in [{}]{}", quoted(wrong), entry.section, suggestion),
               hint_for_unknown(suggestion));
}

/// toml++ says "Error while parsing key-value pair: expected '=', saw '1'".
std::string short_description(const toml::parse_error& error) {
    const std::string_view text = error.description();
    const std::size_t colon = text.find(": ");
    return escaped(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

/// The line where `name`, set again at `line`, was set before: in the section that `line` belongs to or as a section. 0
/// when that cannot be told.
toml::source_index first_line_of(std::string_view name, std::string_view text, toml::source_index line) {
    std::size_t end = 0;
    for (toml::source_index i = 1; i < line && end != std::string_view::npos; ++i) {
        end = text.find('\n', end) + 1;
    }
    toml::table before;
    try {
        before = toml::parse(text.substr(0, end), std::string_view());
    } catch (const toml::parse_error&) {  // the line stands inside a list: what comes before it is no document
        return 0;
    }
    const toml::table* section = &before;
    for (const auto& [key, node] : before) {
        const toml::table* table = node.as_table();
        if (table != nullptr && table->source().begin.line > section->source().begin.line) {
            section = table;
        }
    }
    const toml::node* earlier = section->get(name);
    earlier = earlier == nullptr ? before.get(name) : earlier;
    return earlier == nullptr ? 0 : earlier->source().begin.line;
}

/// toml++ says "cannot redefine existing integer 'depth'".
[[noreturn]] void refuse_twice(const std::string& description, std::string_view text, const std::string& name,
                               const toml::source_region& region) {
    const std::size_t open = description.find('\'');
    const std::size_t close = description.rfind('\'');
    if (open < close && close != std::string::npos) {
        const std::string key = description.substr(open + 1, close - open - 1);
        if (const auto first = first_line_of(key, text, region.begin.line); first != 0) {
            refuse_job("E-CFG-008", place_of(name, region),
                       fmt::format("{} is set twice (lines {}, {})", quoted(key), first, region.begin.line));
        }
    }
    refuse_job("E-CFG-008", place_of(name, region), description, "set it once");
}

/// As of a list's element: title is taken for a misspelt true.
bool is_about_a_word(std::string_view what) {
    constexpr std::array<std::string_view, 5> beginnings{"could not determine value type", "expected 'true'",
                                                         "expected 'false'", "expected 'inf'", "expected 'nan'"};
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return what.starts_with(beginning); });
}

/// For the line of a parse error, KEY = VALUE: how to write VALUE as the string that it may be; empty: it is none.
std::string hint_for_bare_string(std::string_view text, toml::source_index line) {
    constexpr std::size_t longest = 100;  // more says no more
    constexpr std::string_view blanks = " \t\r";
    for (toml::source_index i = 1; i < line; ++i) {
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    text = text.substr(0, text.find('\n'));
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view key = trimmed(text.substr(0, equals), blanks);
    const std::string_view value = trimmed(text.substr(std::min(equals + 1, text.size())), blanks);
    const bool has_other_signs = value.find_first_of("\"'[]{},=#") != std::string_view::npos;
    const bool is_number_like = value.find_first_not_of("0123456789.+-_:") == std::string_view::npos;
    if (has_other_signs || is_number_like || text.size() > longest) {
        return {};
    }
    return fmt::format("a string stands in quotes: {} = {}", escaped(key), toml_string(value));
}

toml::table parse_toml(std::string_view text, const std::string& name) {
    try {
        return toml::parse(text, std::string_view());
    } catch (const toml::parse_error& error) {
        const std::string what = short_description(error);
        if (what.starts_with("cannot redefine")) {
            refuse_twice(what, text, name, error.source());
        }
        std::string hint = hint_for_bare_string(text, error.source().begin.line);
        if (hint.empty() && is_about_a_word(what)) {
            hint = "a string stands in quotes";
        } else if (hint.empty() && !name.ends_with(".toml")) {
            hint = "is it the job file? These are written in TOML";
        }
        refuse_job("E-CFG-006", place_of(name, error.source()), what, std::move(hint));
    }
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool is_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && utf8_length(text, i) != 0) {
        i += utf8_length(text, i);
    }
    return i == text.size();
}

toml::table read_document(std::string_view raw, const std::string& name) {
    const std::string_view text = check_job_text(raw, name);
    if (is_blank(text)) {
        refuse_job("E-CFG-003", name, "is empty, expected a job", "docs/job-file.md starts with an example");
    }
    return parse_toml(text, name);
}

Settings settings_in(const toml::table& document, const JobSchema& schema, const std::string& app,
                     const std::string& name) {
    Settings settings;
    for (const Entry& entry : entries_of(schema, document)) {
        const std::string full_name = full_name_of(entry);
        const bool is_flat = entry.key->str().find('.') == std::string_view::npos;  // a quoted key is none of ours
        const KeySpec* const key = is_flat ? schema.find(full_name) : nullptr;
        if (key == nullptr) {
            const std::string where = place_of(name, entry.key->source());
            if (is_flat) {
                refuse_key_of_another_app(schema, full_name, app, where);
            }
            refuse_unknown(schema, entry, where);
        }
        const std::string where = place_of(name, entry.node->source());
        settings[full_name] = {read_value(*key, *entry.node, name, where), where, false};
    }
    return settings;
}

/// The value of an override: TOML, except that where a string is expected everything that does not start with a quote
/// stands for itself, and that the bare word auto needs no quotes either. Where a list may stand for a path, it is one
/// that begins and ends with a bracket.
SettingValue read_override_value(const KeySpec& key, const std::string& value, const std::string& where) {
    const bool quoted_value = value.starts_with('"') || value.starts_with('\'');
    const bool is_list = value.starts_with('[') && value.ends_with(']');
    const bool takes_string = key.type == KeyType::text || key.type == KeyType::path || key.type == KeyType::name ||
                              key.type == KeyType::duration || (key.type == KeyType::paths && !is_list);
    const std::string_view checked = check_job_text(value, where);
    if ((takes_string && !quoted_value) || (!key.word.empty() && value == key.word)) {
        return read_value(key, toml::value<std::string>(checked), {}, where);
    }
    const std::string line = fmt::format("v = {}", checked);
    toml::table document;
    try {
        document = toml::parse(line, std::string_view());
    } catch (const toml::parse_error&) {
        refuse_value("E-CFG-010", key, where, quoted(value));
    }
    if (document.size() != 1) {
        refuse_value("E-CFG-010", key, where, "more than a value");
    }
    return read_value(key, *document.get("v"), {}, where);
}

void apply(const Override& change, const JobSchema& schema, const std::string& app, Settings& settings) {
    const std::string where = escaped(fmt::format("--set {}={}", change.key, change.value));
    const KeySpec* const key = schema.find(change.key);
    if (key == nullptr) {
        refuse_key_of_another_app(schema, change.key, app, where);
        const std::string suggestion = schema.suggest(change.key);
        refuse_job("E-CFG-009", where, fmt::format("unknown key {}{}", quoted(change.key), suggestion),
                   hint_for_unknown(suggestion));
    }
    if (change.value.empty()) {
        settings.erase(change.key);
        return;
    }
    settings[change.key] = {resolved(read_override_value(*key, change.value, where), change.base), where, true};
}

/// The app that the job names: its keys decide what else the job may set. Empty: none.
std::string app_of(const toml::table& document, const std::string& name, std::span<const Override> overrides,
                   std::span<const AppKeys> apps) {
    const auto change =
        std::find_if(overrides.rbegin(), overrides.rend(), [](const Override& o) { return o.key == "app"; });
    const toml::node* const node = document.get("app");
    std::string where;
    std::string app;
    if (change != overrides.rend()) {
        where = escaped("--set app=" + change->value);
        app = std::get<std::string>(read_override_value(KeySpec{.name = "app"}, change->value, where));
    } else if (node != nullptr && node->is_string()) {
        where = place_of(name, node->source());
        app = node->value_or(std::string());
    }
    if (!app.empty()) {
        check_app(app, where, apps);
    }
    return app;
}

/// The job that is kept for `sluice resume` names files by whole paths, and what no key may hold, no path may.
void check_folder(const std::filesystem::path& folder, const std::string& name) {
    const std::string whole = absolute_path(folder.empty() ? "." : folder).native();
    if (!is_utf8(whole)) {
        refuse_job("E-CFG-005", name, "the folder of the job file has a name that is not UTF-8",
                   "rename the folder: a job's paths start there, and TOML cannot hold them");
    }
    if (whole.find_first_of("\n\r") != std::string::npos) {
        refuse_job("E-CFG-017", name, "the folder of the job file has a line break in its name",
                   "rename the folder: a job's paths start there");
    }
}

JobConfig parse(std::string_view text, const JobOrigin& origin, std::span<const Override> overrides,
                std::span<const AppKeys> apps) {
    check_folder(origin.base, origin.name);
    const toml::table document = read_document(text, origin.name);
    const std::string app = app_of(document, origin.name, overrides, apps);
    const JobSchema schema(apps, app);
    Settings settings = settings_in(document, schema, app, origin.name);
    for (const Override& change : overrides) {
        apply(change, schema, app, settings);
    }
    return build_job({.settings = settings, .schema = schema, .origin = origin}, apps);
}

}  // namespace

Override parse_override(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || trimmed(text.substr(0, equals)).empty()) {
        throw Error(ExitCode::usage, {"E-USE-098", "--set " + escaped(text), "expected KEY=VALUE",
                                      "write it as in --set pipeline.depth=4"});
    }
    return {std::string(trimmed(text.substr(0, equals))), std::string(trimmed(text.substr(equals + 1)))};
}

JobConfig read_job(const std::filesystem::path& file, std::span<const Override> overrides,
                   std::span<const AppKeys> apps) {
    return parse(read_job_text(file), {escaped(file.native()), file.parent_path(), file}, overrides, apps);
}

JobConfig parse_job(std::string_view text, const std::string& name, const std::filesystem::path& base,
                    std::span<const Override> overrides, std::span<const AppKeys> apps) {
    return parse(text, {escaped(name), base, {}}, overrides, apps);
}

}  // namespace sluice
