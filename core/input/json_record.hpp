#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The text of an item: the values of `columns` in the JSON object `line`, joined by one space, in `joined`, which is
/// overwritten. Strings give their text, numbers their text in the file. Throws RecordProblem when the line is no JSON
/// object, or a column is missing, there twice, or neither string nor number.
void join_json(std::string_view line, std::span<const std::string> columns, std::string& joined);

}  // namespace sluice
