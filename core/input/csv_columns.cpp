#include "core/input/csv_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "core/error.hpp"
#include "core/input/record.hpp"

namespace sluice {
namespace {

constexpr char const* mismatch = "E-INP-032";
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
        throw RecordProblem{mismatch,
                            fmt::format("there is no column {} (got {} column{}, counted from 1)", number, columns,
                                        columns == 1 ? "" : "s"),
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
            mismatch,
            header.empty() ? fmt::format("there is no column {} without a header", sluice::quoted(name))
                           : fmt::format("there is no column {} (got {})", sluice::quoted(name), names),
            header.empty() ? "set [input].header = true, or give columns by number" : "check [input].columns"};
    }
    if (std::find(found + 1, header.end(), name) != header.end()) {
        throw RecordProblem{mismatch, fmt::format("two columns are called {}", sluice::quoted(name)),
                            "give the column by its number"};
    }
    return static_cast<std::size_t>(found - header.begin());
}

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

}  // namespace sluice
