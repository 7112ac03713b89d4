#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "scheduler/report.hpp"

namespace sluice {

/// The end of a run in which some devices have computed their last chunk and wait for others.
struct Tail {
    int rank = 0;             ///< Of the device that is done last.
    std::string name{};       ///< "device 0 (host)"
    double time = 0;          ///< Seconds from when the first device was done until the last one was.
    std::size_t waiting = 0;  ///< Devices that waited for a tenth of that or more.
    double cost = 0;   ///< Seconds by which the run would be shorter if all devices were done at once, at their rates.
    double chunk = 0;  ///< Seconds that a full chunk takes the device that is done last.
    bool is_in_the_way = false;  ///< Without that device, the others would have been done earlier.
};

/// nullopt: fewer than two devices computed, or their ends are no further apart than their clocks' error. Pure.
[[nodiscard]] std::optional<Tail> find_tail(const RunReport& run);

}  // namespace sluice
