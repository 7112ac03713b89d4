#include "core/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

std::string mean(std::string_view name) {
    return fmt::format("; did you mean '{}'?", name);
}

bool is_in(std::string_view section, std::string_view name) {
    return !name.empty() && section.starts_with(name) && (section.size() == name.size() || section[name.size()] == '.');
}

std::string table_entry(const KeySpec& key) {
    constexpr std::size_t widest = 14;
    const std::string_view text = key.default_text();
    const std::string name = key.name.size() <= widest ? fmt::format("  {:<{}} ", key.name, widest)
                                                       : fmt::format("  {}\n{:<{}}", key.name, "", widest + 3);
    return fmt::format("{}{}\n{:<{}}takes {}; {}\n", name, key.help, "", widest + 3, key.expected(),
                       key.required           ? std::string(text)
                       : key.fallback.empty() ? std::string("no default")
                                              : fmt::format("default {}", text));
}

/// Of all keys for which `is_meant(key, app)`; `app`: that has it, empty for a key of every job.
template <class IsMeant>
std::string rows_of(std::span<const AppKeys> apps, IsMeant is_meant) {
    std::string text;
    const auto add = [&](const auto& keys, std::string_view app) {
        std::string_view section;
        for (const KeySpec& key : keys) {
            if (!is_meant(key, app)) {
                continue;
            }
            if (key.section != section) {
                section = key.section;
                text += fmt::format("{}[{}]{}\n", text.empty() ? "" : "\n", section,
                                    app.empty() ? "" : fmt::format(" of app '{}'", app));
            }
            text += table_entry(key);
        }
    };
    add(job_keys(), {});
    for (const AppKeys& owner : apps) {
        add(owner.keys, owner.app);
    }
    return text;
}

/// Whether the key takes more than one value: a range that was forgotten holds 0 alone.
bool has_range(const KeySpec& key) {
    switch (key.type) {
        case KeyType::integer:
        case KeyType::columns:
            return key.least < key.most;
        case KeyType::real:
            return key.lowest < key.highest;
        case KeyType::name:
            return key.least <= key.most && key.most > 0;
        default:
            return true;
    }
}

/// Throws ContractViolation if an app cannot have this key.
void check_own(const KeySpec& key, bool is_taken) {
    const auto check = [&](bool is_met, std::string_view what) {
        if (!is_met) {
            throw ContractViolation(fmt::format("the app's key '{}' {}", key.full_name(), what));
        }
    };
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const auto is_in_section = [&](char c) { return c == '.' || letters.find(c) != std::string_view::npos; };
    check(!key.section.empty(), "stands in no section");
    check(!key.name.empty() && key.name.find_first_not_of(letters) == std::string_view::npos &&
              std::ranges::all_of(key.section, is_in_section),
          "has other characters than letters, digits, _ and -");
    check(key.type != KeyType::paths, "names several files");
    check(has_range(key), "needs a range of values");
    check(!is_taken, "has the name of another key");
}

}  // namespace

JobSchema::JobSchema(std::span<const AppKeys> apps, std::string_view app) {
    for (const JobKey& key : job_keys()) {
        keys_.push_back(&key);
    }
    const bool is_known = std::ranges::find(apps, app, &AppKeys::app) != apps.end();
    for (const AppKeys& owner : apps) {
        if (is_known && owner.app != app) {
            others_.push_back(owner);
            continue;
        }
        for (const KeySpec& key : owner.keys) {
            check_own(key, is_known && find(key.full_name()) != nullptr);
            own_.push_back(&key);
            keys_.push_back(&key);
        }
    }
}

const KeySpec* JobSchema::find(std::string_view full_name) const {
    const auto found = std::ranges::find(keys_, full_name, [](const KeySpec* key) { return key->full_name(); });
    return found == keys_.end() ? nullptr : *found;
}

std::vector<std::string_view> JobSchema::other_owners_of(std::string_view full_name) const {
    std::vector<std::string_view> owners;
    for (const AppKeys& other : others_) {
        if (std::ranges::find(other.keys, full_name, &KeySpec::full_name) != other.keys.end()) {
            owners.push_back(other.app);
        }
    }
    return owners;
}

std::vector<std::string_view> JobSchema::sections() const {
    std::vector<std::string_view> sections;
    for (const KeySpec* key : keys_) {
        if (!key->section.empty() && std::ranges::find(sections, key->section) == sections.end()) {
            sections.push_back(key->section);
        }
    }
    return sections;
}

bool JobSchema::is_section(std::string_view name) const {
    return std::ranges::any_of(keys_, [&](const KeySpec* key) { return is_in(key->section, name); }) ||
           std::ranges::any_of(others_, [&](const AppKeys& other) {
               return std::ranges::any_of(other.keys, [&](const KeySpec& key) { return is_in(key.section, name); });
           });
}

std::string JobSchema::suggest(std::string_view section, std::string_view wrong_name) const {
    std::vector<std::string_view> here;
    std::vector<std::string_view> elsewhere;
    for (const KeySpec* key : keys_) {
        (key->section == section ? here : elsewhere).push_back(key->name);
    }
    const auto in_full = [&](std::string_view name) {
        return (*std::ranges::find_if(keys_,
                                      [&](const KeySpec* key) { return key->section != section && key->name == name; }))
            ->full_name();
    };
    if (std::ranges::find(elsewhere, wrong_name) != elsewhere.end()) {
        return mean(in_full(wrong_name));
    }
    if (const auto name = closest_name(wrong_name, here); !name.empty()) {
        return mean(name);
    }
    if (const auto name = closest_name(wrong_name, elsewhere); !name.empty()) {
        return mean(in_full(name));
    }
    std::vector<std::string_view> of_others;
    for (const AppKeys& owner : others_) {
        for (const KeySpec& key : owner.keys) {
            if (key.section == section) {
                of_others.push_back(key.name);
            }
        }
    }
    const auto name = closest_name(wrong_name, of_others);
    return name.empty() ? std::string() : fmt::format("; did you mean '{}', which only another app has?", name);
}

std::string JobSchema::suggest(std::string_view wrong_full_name) const {
    std::vector<std::string> full_names;
    for (const KeySpec* key : keys_) {
        full_names.push_back(key->full_name());
    }
    const std::vector<std::string_view> names(full_names.begin(), full_names.end());
    if (const auto name = closest_name(wrong_full_name, names); !name.empty()) {
        return mean(name);
    }
    const std::size_t dot = wrong_full_name.rfind('.');
    return dot == std::string_view::npos ? suggest("", wrong_full_name)
                                         : suggest(wrong_full_name.substr(0, dot), wrong_full_name.substr(dot + 1));
}

std::string describe_keys(std::span<const AppKeys> apps) {
    return rows_of(apps, [](const KeySpec&, std::string_view) { return true; });
}

std::string describe_keys(std::span<const AppKeys> apps, std::string_view topic) {
    return rows_of(apps, [&](const KeySpec& key, std::string_view app) {
        return !topic.empty() &&
               (topic == app || topic == key.section || topic == key.name || topic == key.full_name());
    });
}

std::vector<std::string> key_topics(std::span<const AppKeys> apps) {
    std::set<std::string> topics;
    const auto add = [&](const auto& keys) {
        for (const KeySpec& key : keys) {
            topics.insert({std::string(key.section), std::string(key.name), key.full_name()});
        }
    };
    add(job_keys());
    for (const AppKeys& owner : apps) {
        topics.emplace(owner.app);
        add(owner.keys);
    }
    topics.erase("");
    return {topics.begin(), topics.end()};
}

}  // namespace sluice
