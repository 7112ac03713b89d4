#include "tests/support/json_schema.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace sluice::test {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 16> keywords{
    "$schema", "$defs",   "$ref",    "title",    "description",          "type",  "properties", "required", "items",
    "anyOf",   "minimum", "maximum", "minItems", "additionalProperties", "const", "enum"};

bool has_type(const Json& value, const std::string& type) {
    const std::array<std::pair<std::string_view, bool>, 7> types{{{"object", value.is_object()},
                                                                  {"array", value.is_array()},
                                                                  {"string", value.is_string()},
                                                                  {"boolean", value.is_boolean()},
                                                                  {"null", value.is_null()},
                                                                  {"number", value.is_number()},
                                                                  {"integer", value.is_number_integer()}}};
    const auto* const found = std::ranges::find(types, type, &std::pair<std::string_view, bool>::first);
    if (found == types.end()) {
        throw std::invalid_argument("unknown type in a schema: " + type);
    }
    return found->second;
}

class Validator {
public:
    explicit Validator(const Json& root) : root_(root) {}

    void check(const Json& schema, const Json& value, const std::string& at) {
        if (schema.is_boolean()) {
            expect(schema.get<bool>(), at, "must not be there");
            return;
        }
        for (const auto& [keyword, rule] : schema.items()) {
            if (std::ranges::find(keywords, keyword) == keywords.end()) {
                throw std::invalid_argument("unknown keyword in a schema: " + keyword);
            }
            apply(schema, keyword, rule, value, at);
        }
    }

    [[nodiscard]] std::vector<std::string> found() && { return std::move(found_); }

private:
    void expect(bool holds, const std::string& at, const std::string& what) {
        if (!holds) {
            found_.push_back(at + ": " + what);
        }
    }

    void apply(const Json& schema, const std::string& keyword, const Json& rule, const Json& value,
               const std::string& at) {
        if (keyword == "$ref") {
            check(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value, at);
        } else if (keyword == "type") {
            const Json types = rule.is_array() ? rule : Json::array({rule});
            expect(std::ranges::any_of(types, [&](const Json& type) { return has_type(value, type); }), at,
                   "is no " + rule.dump() + ": " + value.dump());
        } else if (keyword == "const") {
            expect(value == rule, at, "is not " + rule.dump() + ": " + value.dump());
        } else if (keyword == "enum") {
            expect(std::ranges::find(rule, value) != rule.end(), at, "is none of " + rule.dump() + ": " + value.dump());
        } else if (keyword == "minimum") {
            expect(!value.is_number() || value >= rule, at, "is below " + rule.dump() + ": " + value.dump());
        } else if (keyword == "maximum") {
            expect(!value.is_number() || value <= rule, at, "is above " + rule.dump() + ": " + value.dump());
        } else if (keyword == "minItems") {
            expect(!value.is_array() || value.size() >= rule.get<std::size_t>(), at, "has too few elements");
        } else if (keyword == "anyOf") {
            expect(std::ranges::any_of(rule,
                                       [&](const Json& one) {
                                           Validator alone(root_);
                                           alone.check(one, value, at);
                                           return alone.found_.empty();
                                       }),
                   at, "fits none of the forms that it may have: " + value.dump());
        } else if (value.is_object()) {
            apply_to_object(schema, keyword, rule, value, at);
        } else if (value.is_array() && keyword == "items") {
            for (std::size_t i = 0; i < value.size(); ++i) {
                check(rule, value[i], at + "/" + std::to_string(i));
            }
        }
    }

    void apply_to_object(const Json& schema, const std::string& keyword, const Json& rule, const Json& value,
                         const std::string& at) {
        if (keyword == "required") {
            for (const Json& key : rule) {
                expect(value.contains(key.get<std::string>()), at, "lacks " + key.dump());
            }
        } else if (keyword == "properties" || keyword == "additionalProperties") {
            const Json properties = schema.value("properties", Json::object());
            for (const auto& [key, member] : value.items()) {
                const bool is_listed = properties.contains(key);
                if (is_listed == (keyword == "properties")) {
                    check(is_listed ? properties.at(key) : rule, member, at + "/" + key);
                }
            }
        }
    }

    const Json& root_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Json& schema, const Json& value) {
    Validator validator(schema);
    validator.check(schema, value, "");
    return std::move(validator).found();
}

}  // namespace sluice::test
