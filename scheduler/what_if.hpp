#pragma once

#include <string>
#include <vector>

#include "scheduler/resources.hpp"

namespace sluice {

/// Predicted length of a changed run, by replay of its chunk times.
struct WhatIf {
    std::string change;  ///< "compute 2 x faster"
    double seconds = 0;
};

/// Seconds of a run before the first chunk's compute, from there to the last chunk's write, and after it.
struct RunTimes {
    double startup = 0;
    double serving = 0;
    double end = 0;

    [[nodiscard]] double whole() const noexcept { return startup + serving + end; }
};

struct Prediction {
    double replayed = 0;            ///< Replayed over measured serving time; 0: not replayed.
    std::vector<WhatIf> changes{};  ///< The few that save most, best first; empty if the replay does not match the run.
};

/// Changes that make sense.
struct Considered {
    bool links = true;    ///< Faster links between ranks: no, if their messages wait for busy devices.
    bool devices = true;  ///< Twice the devices.
};

/// Considers each stage twice as fast, no start-up, and twice the devices. Pure.
[[nodiscard]] Prediction predict_changes(const RunReport& run, const RunTimes& times, const Considered& considered);

}  // namespace sluice
