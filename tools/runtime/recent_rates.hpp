#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/clock.hpp"
#include "slurm/run_status.hpp"

namespace sluice {

/// 0 where no time has passed.
[[nodiscard]] double per_second(std::uint64_t count, Seconds time);

/// A run's rates in the last seconds, by its counts now and then.
class RecentRates {
public:
    /// Sets the rates of `status`, and which rank is slowest, from its counts, which are of `now`.
    void take(RunStatus& status, Instant now);

private:
    struct Sample {
        Instant at{};
        std::uint64_t items = 0;
        std::vector<std::uint64_t> of_rank{};
    };

    std::deque<Sample> samples_;
};

}  // namespace sluice
