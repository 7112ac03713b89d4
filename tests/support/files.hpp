#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// All bytes of a file; empty when it cannot be read, as that of a process that has ended.
[[nodiscard]] std::string contents(const std::filesystem::path& file);

void write_file(const std::filesystem::path& file, std::string_view bytes);

/// The names in a folder, in order, the hidden ones too.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// The rows of a file of values without quotes: lines, and in each the parts between commas.
[[nodiscard]] std::vector<std::vector<std::string>> csv_rows(const std::string& text);

}  // namespace sluice::test
