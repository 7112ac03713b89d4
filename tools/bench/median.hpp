#pragma once

#include <algorithm>
#include <vector>

namespace sluice::bench {

/// Of at least one value; the larger one of the two in the middle.
[[nodiscard]] inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace sluice::bench
