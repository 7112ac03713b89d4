#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// All bytes of a file; empty if it cannot be read, like /proc files of a process that has ended.
[[nodiscard]] std::string contents(const std::filesystem::path& file);

void write_file(const std::filesystem::path& file, std::string_view bytes);

/// Names in a folder, sorted, including hidden ones.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// Rows and values of comma-separated text without quotes.
[[nodiscard]] std::vector<std::vector<std::string>> csv_rows(const std::string& text);

}  // namespace sluice::test
