#include "tools/bench/ladder/energy_steps.hpp"

namespace sluice::ladder {

void EnergySteps::add(double seconds, double joules) {
    if (has_read_ && joules == last_.joules) {
        return;
    }
    last_ = {seconds, joules};
    if (has_read_ && ++steps_ == 1) {
        first_ = last_;
    }
    has_read_ = true;
}

std::optional<double> EnergySteps::watts() const {
    return steps_ < 2 ? std::nullopt : std::optional((last_.joules - first_.joules) / (last_.seconds - first_.seconds));
}

}  // namespace sluice::ladder
