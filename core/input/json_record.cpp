#include "core/input/json_record.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/input/record.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

constexpr char const* malformed_line = "E-INP-035";
constexpr char const* unlike_columns = "E-INP-032";
constexpr std::size_t deepest = 64;  // no item needs more; bounds the parser's own stack

/// Picks the wanted values out of the parser's events, so that no document is built.
class Picker : public nlohmann::json_sax<Json> {
public:
    explicit Picker(std::span<const std::string> columns) : columns_(columns), values_(columns.size()) {}

    bool null() override { return refuse_wanted("null"); }
    bool boolean(bool) override { return refuse_wanted("a boolean"); }
    bool binary(binary_t&) override { return refuse_wanted("binary data"); }
    bool number_integer(number_integer_t value) override { return take(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
    bool number_float(number_float_t, const string_t& text) override { return take(text); }
    bool string(string_t& text) override { return take(text); }

    bool start_object(std::size_t) override { return enter("an object", false); }
    bool start_array(std::size_t) override { return enter("an array", true); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }

    bool key(string_t& name) override {
        wanted_.clear();
        for (std::size_t i = 0; depth_ == 1 && i < columns_.size(); ++i) {
            if (columns_[i] == name) {
                wanted_.push_back(i);
            }
        }
        return true;
    }

    bool parse_error(std::size_t position, const std::string& token, const Json::exception& problem) override {
        // The parser reports an overflowing number in the same way as a syntax error, told apart by its class alone.
        const bool overflow = dynamic_cast<const Json::out_of_range*>(&problem) != nullptr;
        throw RecordProblem{
            malformed_line,
            fmt::format("{} at byte {} of the line, near {}", overflow ? "a number too large" : "not valid JSON",
                        position, sluice::quoted(token)),
            "write one JSON object per line, in UTF-8"};
    }

    void join(std::string& joined) const {
        joined.clear();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (!values_[i]) {
                throw RecordProblem{unlike_columns, fmt::format("column {} is missing", sluice::quoted(columns_[i])),
                                    "check [input].columns"};
            }
            joined += i == 0 ? "" : " ";
            joined += *values_[i];
        }
    }

private:
    bool take(const std::string& value) {
        require_object();
        for (const std::size_t column : wanted_) {
            if (values_[column]) {
                throw RecordProblem{unlike_columns,
                                    fmt::format("column {} appears twice", sluice::quoted(columns_[column])),
                                    "keep one of them"};
            }
            values_[column] = value;
        }
        wanted_.clear();
        return true;
    }

    bool refuse_wanted(const char* kind) {
        require_object();
        if (!wanted_.empty()) {
            throw RecordProblem{unlike_columns,
                                fmt::format("column {} is {} (expected a string or a number)",
                                            sluice::quoted(columns_[wanted_.front()]), kind),
                                "make it a string, or leave the item out"};
        }
        return true;
    }

    bool enter(const char* kind, bool is_array) {
        if (depth_ > 0 || is_array) {
            refuse_wanted(kind);
        }
        if (++depth_ > deepest) {
            throw RecordProblem{malformed_line, fmt::format("nested deeper than {} levels", deepest),
                                "write one flat JSON object per line"};
        }
        return true;
    }

    bool leave() {
        --depth_;
        wanted_.clear();
        return true;
    }

    void require_object() const {
        if (depth_ == 0) {
            throw RecordProblem{unlike_columns, "the line is not a JSON object", "write one JSON object per line"};
        }
    }

    std::span<const std::string> columns_;
    std::vector<std::optional<std::string>> values_;
    std::vector<std::size_t> wanted_;  // columns that the value after the last key is for
    std::size_t depth_ = 0;
};

}  // namespace

void join_json(std::string_view line, std::span<const std::string> columns, std::string& joined) {
    Picker picker(columns);
    Json::sax_parse(line.begin(), line.end(), &picker);
    picker.join(joined);
}

}  // namespace sluice
