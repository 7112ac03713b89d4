#pragma once

#include <string>
#include <vector>

#include "scheduler/resources.hpp"

namespace sluice {

/// What the run would take if something were different, by a replay of what its chunks took.
struct WhatIf {
    std::string change;  ///< "compute 2 x faster"
    double seconds = 0;
};

/// Of a run: seconds before the first chunk's compute, from there to the last written chunk, and after it.
struct RunTimes {
    double startup = 0;
    double serving = 0;
    double end = 0;

    [[nodiscard]] double whole() const noexcept { return startup + serving + end; }
};

struct Prediction {
    double replayed = 0;            ///< The serving time by replay over the measured one; 0: not replayed.
    std::vector<WhatIf> changes{};  ///< Best first, the few that save most; empty where the replay is not this run's.
};

/// Each stage twice as fast, no start-up, and if `may_add_devices`, twice the devices. Pure.
[[nodiscard]] Prediction predict_changes(const JudgedRun& run, const RunTimes& times, bool may_add_devices);

}  // namespace sluice
