#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::test {

// The same items in every form that the classifier takes, written by its definition (Zhang, Zhao, LeCun 2015, section
// 2.2: 70 symbols, 1014 characters, the last character first) and not by its code.

[[nodiscard]] std::string as_csv(const std::vector<std::string>& texts);
[[nodiscard]] std::string as_csv_with_header(const std::vector<std::string>& texts);  ///< Columns id, body, note.
[[nodiscard]] std::string as_jsonl(const std::vector<std::string>& texts);            ///< Fields id, body.
[[nodiscard]] std::string as_symbols(const std::vector<std::string>& texts);          ///< A byte a character.
[[nodiscard]] std::string as_one_hot(const std::vector<std::string>& texts);          ///< (items, 70, 1014) fp32.

/// A version 1.0 .npy file; `shape` as "(3, 1014)".
[[nodiscard]] std::string npy(const std::string& element, const std::string& shape, const std::string& data);

}  // namespace sluice::test
