#pragma once

#include <filesystem>
#include <string>

namespace sluice {

/// The text of a file that should hold a machine's XML. Throws Error (no_input, bad_data).
[[nodiscard]] std::string read_topology_file(const std::filesystem::path& file);

/// Throws Error (bad_data) that names the file.
[[noreturn]] void refuse_topology_file(const std::filesystem::path& file, std::string what);

}  // namespace sluice
