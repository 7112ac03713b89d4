#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/report.hpp"

namespace sluice::test {

/// Of a run of ten seconds, of which nine are compute on each of its devices; a device begins 10 ms after the one
/// before.
[[nodiscard]] RankReport example_rank(int rank, std::string host, std::size_t devices);

/// 1000 items, done by ranks "n0", "n1" and so on.
[[nodiscard]] RunReport example_run(int ranks, std::size_t devices = 1);

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

/// The words after `label` in the first line that starts with it.
[[nodiscard]] std::vector<std::string> row(const std::string& text, const std::string& label);

}  // namespace sluice::test
