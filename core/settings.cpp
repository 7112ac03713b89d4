#include "core/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

std::string or_word(const KeySpec& key, std::string_view separator) {
    return key.word.empty() ? std::string() : fmt::format("{} \"{}\"", separator, key.word);
}

}  // namespace

std::string KeySpec::full_name() const {
    return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

std::string KeySpec::expected() const {
    switch (type) {
        case KeyType::boolean:
            return "true or false";
        case KeyType::integer:
            return fmt::format("an integer {}..{}{}", least, most, or_word(*this, " or"));
        case KeyType::real:
            return fmt::format("a number {}..{}", lowest, highest);
        case KeyType::path:
            return "a path as a string";
        case KeyType::paths:
            return "a path or pattern as a string, or a list of these";
        case KeyType::columns:
            return fmt::format("a list of column numbers {}..{} and names", least, most);
        case KeyType::name: {
            std::string characters;
            for (const char c : also) {
                characters += {' ', c};
            }
            return fmt::format("at most {} characters of A-Z a-z 0-9 . _ -{}", most, characters);
        }
        case KeyType::words:
            return choices.empty() ? "a list of strings"
                                   : fmt::format("a list of \"{}\"", fmt::join(choices, "\", \""));
        case KeyType::duration:
            return fmt::format("a time as in \"04:00:00\", \"1-12:00:00\", \"90m\" or \"240s\"{}",
                               or_word(*this, ", or"));
        case KeyType::text:
            break;
    }
    return choices.empty() ? "a string" : fmt::format("\"{}\"", fmt::join(choices, "\", \""));
}

std::string_view KeySpec::default_text() const {
    if (required) {
        return "required";
    }
    return fallback.empty() ? "none" : fallback;
}

void AppSettings::set(std::string name, SettingValue value) {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    if (found == entries_.end()) {
        entries_.push_back({std::move(name), std::move(value)});
    } else {
        found->value = std::move(value);
    }
}

const SettingValue* AppSettings::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    return found == entries_.end() ? nullptr : &found->value;
}

float AppSettings::get_float(std::string_view name) const {
    const double number = get<double>(name);
    const double size = std::max<double>(std::abs(number), std::numeric_limits<float>::min());
    return number == 0 ? 0 : static_cast<float>(std::copysign(size, number));
}

const SettingValue& AppSettings::at(std::string_view name) const {
    const SettingValue* const value = find(name);
    if (value == nullptr) {
        throw ContractViolation(
            fmt::format("the app asks for '{}', which is none of its keys, or has no default", name));
    }
    return *value;
}

void AppSettings::refuse_type(std::string_view name) {
    throw ContractViolation(fmt::format("the app asks for '{}' as another type than its key has", name));
}

}  // namespace sluice
