#include "core/config/config_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config_text.hpp"
#include "core/config/slurm_option.hpp"
#include "core/error.hpp"
#include "core/text/closest_name.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_type(const KeySpec& key, const toml::node& node, const std::string& where) {
    const auto* number = node.as_floating_point();
    const bool no_number =
        number != nullptr && !std::isfinite(**number) && (key.type == KeyType::integer || key.type == KeyType::columns);
    refuse_job(no_number ? "E-CFG-012" : "E-CFG-010", where,
               fmt::format("{}: got {}, expected {}", key.full_name(), describe(node), key.expected()));
}

std::uint64_t read_integer(const KeySpec& key, const toml::node& node, const std::string& where) {
    const auto* integer = node.as_integer();
    if (integer == nullptr) {
        refuse_type(key, node, where);
    }
    const std::int64_t value = **integer;
    if (value < 0 || static_cast<std::uint64_t>(value) < key.least || static_cast<std::uint64_t>(value) > key.most) {
        refuse_job("E-CFG-011", where, fmt::format("{}: got {}, expected {}", key.full_name(), value, key.expected()));
    }
    return static_cast<std::uint64_t>(value);
}

bool is_name(std::string_view text, const KeySpec& key) {
    return text.size() <= key.most && std::all_of(text.begin(), text.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '_' || c == '-' || key.also.find(c) != std::string_view::npos;
           });
}

void check_string(const KeySpec& key, const std::string& value, const std::string& where) {
    const auto refuse_value = [&](const char* id, const std::string& got, const std::string& suggestion) {
        refuse_job(id, where,
                   fmt::format("{}: got {}, expected {}{}", key.full_name(), got, key.expected(), suggestion));
    };
    const bool known = std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end();
    if (!key.choices.empty() && !known) {
        refuse_value("E-CFG-011", quoted(value), did_you_mean(value, key.choices));
    }
    if (key.type == KeyType::name && !is_name(value, key)) {
        refuse_value("E-CFG-016", quoted(value), "");
    }
    if (key.type == KeyType::path && value.empty()) {
        refuse_value("E-CFG-011", "an empty string", "");
    }
    if (key.type == KeyType::path && value.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos) {
        refuse_value("E-CFG-017", quoted(value), " without NUL or line breaks");
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
                refuse_job("E-CFG-011", place,
                           fmt::format("{}: got an empty name, expected {}", key.full_name(), key.expected()));
            }
            columns.emplace_back(**column);
        } else {
            columns.emplace_back(static_cast<std::uint32_t>(read_integer(key, element, place)));
        }
    }
    return columns;
}

std::vector<std::string> read_words(const KeySpec& key, const toml::node& node, const std::string& name,
                                    const std::string& where) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
        refuse_type(key, node, where);
    }
    std::vector<std::string> words;
    for (const toml::node& element : *list) {
        const std::string place = name.empty() ? where : place_of(name, element.source());
        const auto* word = element.as_string();
        if (word == nullptr) {
            refuse_type(key, element, place);
        }
        check_string(key, **word, place);
        words.push_back(**word);
    }
    return words;
}

std::uint64_t read_duration(const KeySpec& key, const std::string& text, const std::string& where) {
    const auto duration = parse_duration(text);
    if (!duration) {
        refuse_job("E-CFG-015", where,
                   fmt::format("{}: got {}, expected {}", key.full_name(), quoted(text), key.expected()));
    }
    return static_cast<std::uint64_t>(duration->count());
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

SettingValue read_value(const KeySpec& key, const toml::node& node, const std::string& name, const std::string& where) {
    switch (key.type) {
        case KeyType::boolean:
            if (const auto* flag = node.as_boolean()) {
                return **flag;
            }
            break;
        case KeyType::integer:
            if (const auto* word = node.as_string(); word != nullptr && !key.word.empty() && **word == key.word) {
                return **word;
            }
            return read_integer(key, node, where);
        case KeyType::columns:
            return read_columns(key, node, name, where);
        case KeyType::words:
            return read_words(key, node, name, where);
        case KeyType::duration:
            if (const auto* text = node.as_string()) {
                if (!key.word.empty() && **text == key.word) {
                    return **text;
                }
                return read_duration(key, **text, where);
            }
            break;
        case KeyType::text:
        case KeyType::path:
        case KeyType::name:
            if (const auto* text = node.as_string()) {
                check_string(key, **text, where);
                return **text;
            }
            break;
    }
    refuse_type(key, node, where);
}

}  // namespace sluice
