#include "core/input/record_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "core/input/record.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr char const* unlike_columns = "E-INP-032";
constexpr char const* malformed_json = "E-INP-035";
constexpr std::size_t most_names = 12;  // in a message

/// Cuts the first field off `rest` together with its comma; `more` tells whether there was one.
CsvField take_field(std::string_view& rest, bool& more) {
    CsvField field;
    std::size_t end = 0;
    if (rest.starts_with('"')) {
        std::size_t quote = rest.find('"', 1);
        while (quote + 1 < rest.size() && rest[quote + 1] == '"') {
            field.has_quotes = true;
            quote = rest.find('"', quote + 2);
        }
        expects(quote != std::string_view::npos, "CsvFraming accepts closed quotes only");
        field.raw = rest.substr(1, quote - 1);
        end = quote + 1;
    } else {
        end = std::min(rest.find(','), rest.size());
        field.raw = rest.substr(0, end);
    }
    more = end < rest.size();
    rest.remove_prefix(more ? end + 1 : end);
    return field;
}

std::size_t find_column(std::uint32_t number, std::size_t columns) {
    if (number == 0 || number > columns) {
        throw RecordProblem{
            unlike_columns,
            fmt::format("there is no column {} (got {}, counted from 1)", number, count_of(columns, "column")),
            "check [input].columns"};
    }
    return number - 1;
}

std::size_t find_column(const std::string& name, std::span<const std::string> header) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
        std::string names;
        for (const std::string& other : header.first(std::min(header.size(), most_names))) {
            names += names.empty() ? "" : ", ";
            names += sluice::quoted(other);
        }
        names += header.size() > most_names ? ", …" : "";
        throw RecordProblem{
            unlike_columns,
            header.empty() ? fmt::format("there is no column {} without a header", sluice::quoted(name))
                           : fmt::format("there is no column {} (got {})", sluice::quoted(name), names),
            header.empty() ? "set [input].header = true, or give columns by number" : "check [input].columns"};
    }
    if (std::find(found + 1, header.end(), name) != header.end()) {
        throw RecordProblem{unlike_columns, fmt::format("two columns are called {}", sluice::quoted(name)),
                            "give the column by its number"};
    }
    return static_cast<std::size_t>(found - header.begin());
}

constexpr std::size_t deepest = 64;  // no item needs more; bounds the parser's own stack

/// Picks the wanted values out of the parser's events, so that no document is built.
class Picker : public nlohmann::json_sax<nlohmann::json> {
public:
    Picker(std::span<const std::string> columns, bool takes_arrays)
        : columns_(columns), takes_arrays_(takes_arrays), values_(columns.size()) {}

    bool null() override { return refuse_wanted("null"); }
    bool boolean(bool) override { return refuse_wanted("a boolean"); }
    bool binary(binary_t&) override { return refuse_wanted("binary data"); }
    bool number_integer(number_integer_t value) override {  // negative, or -0
        return take_integer(value == 0 ? "-0" : std::to_string(value));
    }
    bool number_unsigned(number_unsigned_t value) override { return take_integer(std::to_string(value)); }
    bool number_float(number_float_t, const string_t& text) override {
        return array_ ? refuse_wanted("a number that is no integer of 64 bits") : take(text);
    }
    bool string(string_t& text) override { return array_ ? refuse_wanted("a string") : take(text); }

    bool start_object(std::size_t) override { return enter("an object", false); }
    bool start_array(std::size_t) override {
        const bool is_wanted = takes_arrays_ && depth_ == 1 && !wanted_.empty();
        if (is_wanted) {
            array_.emplace();
            ++depth_;
        }
        return is_wanted || enter("an array", true);
    }
    bool end_object() override { return leave(); }
    bool end_array() override {
        if (const auto array = std::exchange(array_, std::nullopt)) {
            take(*array);
        }
        return leave();
    }

    bool key(string_t& name) override {
        wanted_.clear();
        for (std::size_t i = 0; depth_ == 1 && i < columns_.size(); ++i) {
            if (columns_[i] == name) {
                wanted_.push_back(i);
            }
        }
        return true;
    }

    bool parse_error(std::size_t position, const std::string& token,
                     const nlohmann::json::exception& problem) override {
        // The parser reports an overflowing number in the same way as a syntax error, told apart by its class alone.
        const bool overflow = dynamic_cast<const nlohmann::json::out_of_range*>(&problem) != nullptr;
        throw RecordProblem{
            malformed_json,
            fmt::format("{} at byte {} of the line, near {}", overflow ? "a number too large" : "not valid JSON",
                        position, sluice::quoted(token)),
            overflow               ? "write it as a string, also in a column that is not read, or leave the item out"
            : has_half_pair(token) ? "a \\u escape is half of a surrogate pair, which is no character: write \\ufffd"
                                   : "write one JSON object per line, in UTF-8"};
    }

    /// Whether the parser came to the escape of a surrogate: of a pair it reads both.
    static bool has_half_pair(const std::string& token) {
        constexpr std::size_t digits = 4;
        for (std::size_t at = token.find("\\u"); at != std::string::npos; at = token.find("\\u", at + 2)) {
            const std::string_view code = std::string_view(token).substr(at + 2, digits);
            if (code.size() >= 2 && (code[0] == 'd' || code[0] == 'D') && code[1] >= '8') {
                return true;
            }
        }
        return false;
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

    bool take_integer(const std::string& value) {
        if (!array_) {
            return take(value);
        }
        *array_ += array_->empty() ? "" : " ";
        *array_ += value;
        return true;
    }

    bool refuse_wanted(const char* kind) {
        require_object();
        if (!wanted_.empty()) {
            const std::string name = sluice::quoted(columns_[wanted_.front()]);
            throw RecordProblem{
                unlike_columns,
                array_ ? fmt::format("the array in column {} has {} (expected integers)", name, kind)
                       : fmt::format("column {} is {} (expected a string{})", name, kind,
                                     takes_arrays_ ? ", a number or an array of integers" : " or a number"),
                array_ ? "correct the item or leave it out" : "make it a string, or leave the item out"};
        }
        return true;
    }

    bool enter(const char* kind, bool is_array) {
        if (depth_ > 0 || is_array) {
            refuse_wanted(kind);
        }
        if (++depth_ > deepest) {
            throw RecordProblem{malformed_json, fmt::format("nested deeper than {} levels", deepest),
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
    bool takes_arrays_;
    std::vector<std::optional<std::string>> values_;
    std::optional<std::string> array_{};  // the wanted one that the parser is in, as text
    std::vector<std::size_t> wanted_;     // columns that the value after the last key is for
    std::size_t depth_ = 0;
};

}  // namespace

void split_csv(std::string_view record, std::vector<CsvField>& fields) {
    fields.clear();
    bool more = true;
    while (more) {
        fields.push_back(take_field(record, more));
    }
}

void append_csv(const CsvField& field, std::string& to) {
    if (!field.has_quotes) {
        to += field.raw;
        return;
    }
    std::string_view rest = field.raw;
    for (std::size_t quote = rest.find('"'); quote != std::string_view::npos; quote = rest.find('"')) {
        to += rest.substr(0, quote + 1);
        rest.remove_prefix(quote + 2);
    }
    to += rest;
}

CsvColumns::CsvColumns(std::span<const ColumnRef> wanted, std::size_t columns, std::span<const std::string> header) {
    for (const ColumnRef& column : wanted) {
        const auto* number = std::get_if<std::uint32_t>(&column);
        chosen_.push_back(number != nullptr ? find_column(*number, columns)
                                            : find_column(std::get<std::string>(column), header));
    }
    for (std::size_t column = 0; wanted.empty() && column < columns; ++column) {
        chosen_.push_back(column);
    }
}

std::string_view CsvColumns::text(std::string_view record, std::vector<CsvField>& fields, std::string& joined) const {
    split_csv(record, fields);
    if (chosen_.size() == 1 && !fields[chosen_.front()].has_quotes) {
        return fields[chosen_.front()].raw;
    }
    joined.clear();
    const char* separator = "";
    for (const std::size_t column : chosen_) {
        joined += separator;
        append_csv(fields[column], joined);
        separator = " ";
    }
    return joined;
}

void join_json(std::string_view line, std::span<const std::string> columns, bool takes_arrays, std::string& joined) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        throw RecordProblem{malformed_json, "not valid JSON: the line is blank", "remove blank lines"};
    }
    Picker picker(columns, takes_arrays);
    nlohmann::json::sax_parse(line.begin(), line.end(), &picker);
    picker.join(joined);
}

}  // namespace sluice
