#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"

namespace sluice {

/// One field of a record; `raw` is what stands between its commas, or between its quotes.
struct CsvField {
    std::string_view raw;
    bool has_quotes = false;  ///< `raw` holds doubled quotes, each standing for one.
};

/// Splits a record that CsvFraming has accepted.
void split_csv(std::string_view record, std::vector<CsvField>& fields);

/// Appends the field's value. A backslash is a character like any other: public datasets that write "\n" for a line
/// feed keep it, because the same two characters also begin words there ("\next").
void append_csv(const CsvField& field, std::string& to);

/// The columns of an item, from 0, in the requested order.
class CsvColumns {
public:
    CsvColumns() = default;

    /// `wanted` empty: all `columns`. `header` holds the names, or is empty when the file has none. Throws
    /// RecordProblem when a column does not exist or a name is ambiguous.
    CsvColumns(std::span<const ColumnRef> wanted, std::size_t columns, std::span<const std::string> header);

    /// The text of an item: the chosen fields, joined by one space. `fields` and `joined` are work space; the result
    /// lives as long as `record` and `joined`.
    [[nodiscard]] std::string_view text(std::string_view record, std::vector<CsvField>& fields,
                                        std::string& joined) const;

private:
    std::vector<std::size_t> chosen_;
};

/// The text of an item: the values of `columns` in the JSON object `line`, joined by one space, in `joined`, which is
/// overwritten. Strings give their text, numbers their text in the file, and arrays of integers, if `takes_arrays`, the
/// numbers' texts joined by one space. Throws RecordProblem when the line is no JSON object, or a column is missing,
/// there twice, or anything else.
void join_json(std::string_view line, std::span<const std::string> columns, bool takes_arrays, std::string& joined);

}  // namespace sluice
