#include "core/config/value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/config/config.hpp"
#include "core/config/slurm_option.hpp"
#include "core/config/text.hpp"
#include "core/error.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

/// Empty for a key that takes no list, or a string instead of one.
std::string_view hint_for_list(const KeySpec& key) {
    return key.type == KeyType::columns ? "a list stands in brackets: [2, 3] or [\"title\", \"body\"]"
           : key.type == KeyType::words ? "a list stands in brackets, its strings in quotes: [\"one\", \"two\"]"
                                        : "";
}

[[noreturn]] void refuse_type(const KeySpec& key, const toml::node& node, const std::string& where) {
    const auto* number = node.as_floating_point();
    const bool no_number = number != nullptr && !std::isfinite(**number) &&
                           (key.type == KeyType::integer || key.type == KeyType::real || key.type == KeyType::columns);
    refuse_value(no_number ? "E-CFG-012" : "E-CFG-010", key, where, describe(node));
}

std::uint64_t read_integer(const KeySpec& key, const toml::node& node, const std::string& where) {
    const auto* integer = node.as_integer();
    if (integer == nullptr) {
        refuse_type(key, node, where);
    }
    const std::int64_t value = **integer;
    if (value < 0 || static_cast<std::uint64_t>(value) < key.least || static_cast<std::uint64_t>(value) > key.most) {
        refuse_value("E-CFG-011", key, where, fmt::format("{}", value));
    }
    return static_cast<std::uint64_t>(value);
}

double read_real(const KeySpec& key, const toml::node& node, const std::string& where) {
    const auto* const integer = node.as_integer();
    const auto* const real = node.as_floating_point();
    if (integer == nullptr && (real == nullptr || !std::isfinite(**real))) {
        refuse_type(key, node, where);
    }
    const double value = integer != nullptr ? static_cast<double>(**integer) : **real;
    if (value < key.lowest || value > key.highest) {
        refuse_value("E-CFG-011", key, where, fmt::format("{}", value));
    }
    return value + 0.0;  // -0 is 0
}

bool is_name(std::string_view text, const KeySpec& key) {
    return text.size() <= key.most && std::all_of(text.begin(), text.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '_' || c == '-' || key.also.find(c) != std::string_view::npos;
           });
}

void check_string(const KeySpec& key, const std::string& value, const std::string& where) {
    const bool known = std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end();
    if (!key.choices.empty() && !known) {
        refuse_value("E-CFG-011", key, where, quoted(value), did_you_mean(value, key.choices));
    }
    if (key.type == KeyType::name && !is_name(value, key)) {
        refuse_value("E-CFG-016", key, where, quoted(value));
    }
    if (key.type == KeyType::name && value.size() < key.least) {
        refuse_job("E-CFG-016", where, fmt::format("{}: got an empty name", key.full_name()));
    }
    const bool is_path = key.type == KeyType::path || key.type == KeyType::paths;
    if (is_path && value.empty()) {
        refuse_value("E-CFG-011", key, where, "an empty string");
    }
    if (is_path && value.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos) {
        refuse_value("E-CFG-017", key, where, quoted(value), " without NUL or line breaks");
    }
}

std::vector<ColumnRef> read_columns(const KeySpec& key, const toml::node& node, const std::string& name,
                                    const std::string& where) {
    static_assert(std::numeric_limits<std::uint32_t>::max() >= 1'000'000, "a column's number fits");
    const toml::array* list = node.as_array();
    if (list == nullptr) {
        refuse_type(key, node, where);
    }
    std::vector<ColumnRef> columns;
    for (const toml::node& element : *list) {
        const std::string place = name.empty() ? where : place_of(name, element.source());
        if (const auto* column = element.as_string()) {
            if ((*column)->empty()) {
                refuse_value("E-CFG-011", key, place, "an empty name");
            }
            columns.emplace_back(**column);
        } else {
            columns.emplace_back(static_cast<std::uint32_t>(read_integer(key, element, place)));
        }
    }
    return columns;
}

template <class Word>
std::vector<Word> read_words(const KeySpec& key, const toml::node& node, const std::string& name,
                             const std::string& where) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
        refuse_type(key, node, where);
    }
    std::vector<Word> words;
    for (const toml::node& element : *list) {
        const std::string place = name.empty() ? where : place_of(name, element.source());
        const auto* word = element.as_string();
        if (word == nullptr) {
            refuse_type(key, element, place);
        }
        check_string(key, **word, place);
        words.emplace_back(**word);
    }
    return words;
}

std::vector<std::filesystem::path> read_paths(const KeySpec& key, const toml::node& node, const std::string& name,
                                              const std::string& where) {
    if (const auto* const path = node.as_string()) {
        check_string(key, **path, where);
        return {std::filesystem::path(**path)};
    }
    auto paths = read_words<std::filesystem::path>(key, node, name, where);
    if (paths.empty()) {
        refuse_value("E-CFG-011", key, where, "an empty list");
    }
    return paths;
}

std::chrono::seconds read_duration(const KeySpec& key, const std::string& text, const std::string& where) {
    const auto duration = parse_duration(text);
    if (!duration) {
        refuse_value("E-CFG-015", key, where, quoted(text));
    }
    const auto seconds = static_cast<std::uint64_t>(duration->count());
    if (key.most != 0 && (seconds < key.least || seconds > key.most)) {
        refuse_job("E-CFG-011", where,
                   fmt::format("{}: got {} s, expected {}..{} s", key.full_name(), seconds, key.least, key.most));
    }
    return *duration;
}

/// A number that reads back to the same one, and as no integer.
std::string real_literal(double value) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class Element>
std::string list_literal(const std::vector<Element>& elements) {
    std::vector<std::string> parts;
    for (const Element& element : elements) {
        if constexpr (std::is_same_v<Element, ColumnRef>) {
            const auto* const number = std::get_if<std::uint32_t>(&element);
            parts.push_back(number != nullptr ? fmt::format("{}", *number)
                                              : toml_string(std::get<std::string>(element)));
        } else if constexpr (std::is_same_v<Element, std::filesystem::path>) {
            parts.push_back(toml_string(element.native()));
        } else {
            parts.push_back(toml_string(element));
        }
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

std::string place_of(const std::string& name, const toml::source_region& region) {
    return fmt::format("{}:{}:{}", name, region.begin.line, region.begin.column);
}

std::string describe(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string:
            return "string " + quoted(**node.as_string());
        case toml::node_type::integer:
            return fmt::format("integer {}", **node.as_integer());
        case toml::node_type::floating_point:
            return fmt::format("float {}", **node.as_floating_point());
        case toml::node_type::boolean:
            return **node.as_boolean() ? "true" : "false";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::table:
            return "a table";
        default:
            return "a date or time";
    }
}

void refuse_value(const char* id, const KeySpec& key, const std::string& where, std::string_view got,
                  std::string_view what_follows) {
    const bool is_wrong_type = id == std::string_view("E-CFG-010");
    refuse_job(id, where, fmt::format("{}: got {}, expected {}{}", key.full_name(), got, key.expected(), what_follows),
               is_wrong_type ? std::string(hint_for_list(key)) : std::string());
}

SettingValue read_value(const KeySpec& key, const toml::node& node, const std::string& name, const std::string& where) {
    const auto* const string = node.as_string();
    if (string != nullptr && !key.word.empty() && **string == key.word) {
        return **string;
    }
    switch (key.type) {
        case KeyType::boolean:
            if (const auto* flag = node.as_boolean()) {
                return **flag;
            }
            break;
        case KeyType::integer:
            return read_integer(key, node, where);
        case KeyType::real:
            return read_real(key, node, where);
        case KeyType::columns:
            return read_columns(key, node, name, where);
        case KeyType::words:
            return read_words<std::string>(key, node, name, where);
        case KeyType::paths:
            return read_paths(key, node, name, where);
        case KeyType::duration:
            if (string != nullptr) {
                return read_duration(key, **string, where);
            }
            break;
        case KeyType::text:
        case KeyType::path:
        case KeyType::name:
            if (string != nullptr) {
                check_string(key, **string, where);
                return key.type == KeyType::path ? SettingValue(std::filesystem::path(**string))
                                                 : SettingValue(**string);
            }
            break;
    }
    refuse_type(key, node, where);
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\u{:04X}", byte);
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string literal(const SettingValue& value) {
    return std::visit(
        [](const auto& held) -> std::string {
            using Held = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, std::string>) {
                return toml_string(held);
            } else if constexpr (std::is_same_v<Held, std::filesystem::path>) {
                return toml_string(held.native());
            } else if constexpr (std::is_same_v<Held, std::vector<std::filesystem::path>>) {
                return held.size() == 1 ? toml_string(held.front().native()) : list_literal(held);
            } else if constexpr (std::is_same_v<Held, std::chrono::seconds>) {
                return toml_string(duration_text(held));
            } else if constexpr (std::is_same_v<Held, double>) {
                return real_literal(held);
            } else if constexpr (std::is_same_v<Held, bool> || std::is_same_v<Held, std::uint64_t>) {
                return fmt::format("{}", held);
            } else {
                return list_literal(held);
            }
        },
        value);
}

std::string plain_text(const SettingValue& value) {
    if (const auto* const text = std::get_if<std::string>(&value)) {
        return *text;
    }
    const auto* const path = std::get_if<std::filesystem::path>(&value);
    return path == nullptr ? literal(value) : path->native();
}

}  // namespace sluice
