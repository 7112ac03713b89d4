#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/report.hpp"

namespace sluice::test {

/// "device 0 (host)".
[[nodiscard]] InstanceTotals device(Stage stage, std::chrono::nanoseconds busy, std::uint64_t items, int number = 0);

[[nodiscard]] InstanceTotals thread(Stage stage, std::string name, std::chrono::nanoseconds busy, std::uint64_t items);

/// A rank that computes from `first` on, and has written all by `written`.
[[nodiscard]] RankReport rank_of(int rank, std::chrono::nanoseconds first, std::chrono::nanoseconds written,
                                 std::chrono::nanoseconds finish, std::vector<InstanceTotals> instances);

/// As it is where one stage decides everything.
[[nodiscard]] RankReport busy_rank(Stage stage, std::chrono::nanoseconds busy, std::uint64_t items);

/// Of GPUs, in chunks of 10 items.
[[nodiscard]] RunReport run_of(const std::vector<RankReport>& ranks, std::uint64_t items);

}  // namespace sluice::test
