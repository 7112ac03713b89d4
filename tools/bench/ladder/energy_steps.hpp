#pragma once

#include <optional>

namespace sluice::ladder {

/// Mean power by an energy counter that moves in steps, of some ten milliseconds in NVML's case: what the steps between
/// the first and the last one add, over the time between them, so that neither end counts a part of a step.
class EnergySteps {
public:
    /// A reading of the counter; `seconds` is the time on any clock, which never goes back.
    void add(double seconds, double joules);

    /// nullopt: the readings show fewer than two steps.
    [[nodiscard]] std::optional<double> watts() const;

private:
    struct Reading {
        double seconds = 0;
        double joules = 0;
    };

    bool has_read_ = false;
    int steps_ = 0;
    Reading first_{};  // behind the first step
    Reading last_{};   // behind the last one, or the first of all
};

}  // namespace sluice::ladder
