#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Where the source `text` of `file` lets std::filesystem throw an exception of its own, as "core/event.cpp:7: …":
/// calls without an std::error_code, directory iterators, which throw when they continue, and other names for the
/// namespace, behind which calls would hide. Comments are passed over.
[[nodiscard]] std::vector<std::string> throwing_filesystem_calls(const std::string& file, std::string_view text);

}  // namespace sluice
