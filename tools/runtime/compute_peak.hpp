#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "kernels/host_instructions.hpp"
#include "scheduler/roofline.hpp"

namespace sluice {

/// FLOP per second of one host device, by the best of a few matrix products of the backend that apps compute with: a
/// tenth of a second.
[[nodiscard]] double measure_host_peak();

/// On this host, with the instructions that a run computes with.
[[nodiscard]] std::string key_of_host_peak(HostInstructions instructions);

struct PeakSearch {
    std::optional<std::filesystem::path> file{};  ///< cost_cache_file()
    std::string key{};
    bool may_measure = false;           ///< The run was so long that the measurement does not count.
    std::function<double()> measure{};  ///< What is kept in the file then.
};

/// `roofline` with the peak that the file holds, or that was measured, or the note why there is none.
void find_peak(Roofline& roofline, const PeakSearch& search);

}  // namespace sluice
