#include "apps/gpt2/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/gpt2/side_file.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

constexpr std::uint64_t largest_config = std::uint64_t{4} << 20U;
constexpr SideFileErrors config_errors{"E-MOD-170", "use a checkpoint of a model that docs/gpt2.md names"};
constexpr SideFileErrors damage{config_errors.id, "take the files that came with the model"};

}  // namespace

ConfigReader::ConfigReader(json values, std::string where) : values_(std::move(values)), where_(std::move(where)) {
    if (!values_.is_object()) {
        refuse_side_file(damage, where_, "expected a JSON object");
    }
}

ConfigReader::ConfigReader(const std::filesystem::path& file)
    : ConfigReader([&] {
          const SideFile text = read_side_file(file, damage, largest_config);
          return ConfigReader(parse_json(text, damage), text.where);
      }()) {}

std::uint32_t ConfigReader::size(const char* name, std::uint32_t most) const {
    const json& value = at(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > most) {
        refuse(fmt::format("{}{} is {}, expected 1 to {}", prefix_, name, escaped(value.dump()), most));
    }
    return value.get<std::uint32_t>();
}

bool ConfigReader::flag(const char* name, bool fallback) const {
    const json& value = at(name);
    if (!value.is_null() && !value.is_boolean()) {
        refuse(fmt::format("{}{} is {}, expected true or false", prefix_, name, escaped(value.dump())));
    }
    return value.is_null() ? fallback : value.get<bool>();
}

std::string ConfigReader::text(const char* name, const char* fallback) const {
    const json& value = at(name);
    if (!value.is_null() && !value.is_string()) {
        refuse(fmt::format("{}{} is {}, expected a string", prefix_, name, escaped(value.dump())));
    }
    return value.is_null() ? fallback : value.get<std::string>();
}

float ConfigReader::positive(const char* name, float fallback, double most) const {
    const json& value = at(name);
    if (value.is_null()) {
        return fallback;
    }
    if (!value.is_number() || !(value.get<float>() > 0) || value.get<double>() > most) {
        refuse(fmt::format("{}{} is {}, expected a number above 0 and up to {}", prefix_, name, escaped(value.dump()),
                           most));
    }
    return value.get<float>();
}

std::optional<std::uint32_t> ConfigReader::token(const char* name, std::uint32_t vocabulary) const {
    const json& value = at(name);
    if (value.is_null()) {
        return std::nullopt;
    }
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= vocabulary) {
        refuse(fmt::format("{}{} is {}, expected 0 to {}", prefix_, name, escaped(value.dump()), vocabulary - 1));
    }
    return value.get<std::uint32_t>();
}

EndTokens ConfigReader::end_tokens(const char* name, std::uint32_t vocabulary) const {
    const json& value = at(name);
    if (!value.is_array()) {
        const std::optional<std::uint32_t> one = token(name, vocabulary);
        return one ? EndTokens(*one) : EndTokens();
    }
    const auto is_token = [&](const json& each) {
        return each.is_number_unsigned() && each.get<std::uint64_t>() < vocabulary;
    };
    if (value.empty() || value.size() > EndTokens::most || !std::ranges::all_of(value, is_token)) {
        refuse(fmt::format("{}{} is {}, expected 1 to {} tokens of 0 to {}", prefix_, name, escaped(value.dump()),
                           EndTokens::most, vocabulary - 1));
    }
    return EndTokens(value.get<std::vector<std::uint32_t>>());
}

ConfigReader ConfigReader::object(const char* name) const {
    const json& value = at(name);
    if (!value.is_null() && !value.is_object()) {
        refuse(fmt::format("{}{} is {}, expected an object", prefix_, name, escaped(value.dump())));
    }
    ConfigReader reader(value.is_null() ? json::object() : value, where_);
    reader.prefix_ = fmt::format("{}{}.", prefix_, name);
    return reader;
}

void ConfigReader::expect(const char* name, const json& expected) const {
    const json& value = at(name);
    if (!value.is_null() && value != expected) {
        refuse(fmt::format("{}{} is {}, expected {}", prefix_, name, escaped(value.dump()), expected.dump()));
    }
}

void ConfigReader::refuse_other_than(std::initializer_list<std::string_view> names, std::string_view missing) const {
    for (const auto& [name, value] : values_.items()) {
        if (!value.is_null() && std::ranges::find(names, name) == names.end()) {
            refuse(fmt::format("{}{} is {}, but there is {}", prefix_, escaped(name), escaped(value.dump()), missing));
        }
    }
}

const json& ConfigReader::at(const char* name) const {
    static const json null;
    const auto found = values_.find(name);
    return found == values_.end() ? null : *found;
}

void ConfigReader::refuse(const std::string& what) const {
    refuse_side_file(config_errors, where_, what);
}

}  // namespace sluice::gpt2
