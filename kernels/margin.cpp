#include "kernels/margin.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr double safety = 2;

/// The largest difference of two of `errors`: by so much the difference of two scores of this item is off.
double spread(std::span<const double> errors) {
    const auto [least, most] = std::ranges::minmax(errors);
    return most - least;
}

}  // namespace

Margin calibrate_margin(std::span<const float> fast, std::span<const float> exact, std::size_t classes) {
    expects(classes > 0 && fast.size() == exact.size() && fast.size() % classes == 0,
            "margin: fast and exact scores of the same items");
    const std::size_t items = fast.size() / classes;
    Margin margin{.offsets = std::vector<float>(classes)};
    std::vector<double> means(classes);
    const auto error = [&](std::size_t item, std::size_t c) {
        return static_cast<double>(exact[item * classes + c]) - static_cast<double>(fast[item * classes + c]);
    };
    for (std::size_t i = 0; i < items; ++i) {
        for (std::size_t c = 0; c < classes; ++c) {
            means[c] += error(i, c) / static_cast<double>(items);
        }
    }
    const bool finite = std::ranges::all_of(means, [](double mean) { return std::isfinite(mean); });
    if (!finite || items < fewest_margin_items) {
        return margin;
    }
    double worst = 0;
    std::vector<double> errors(classes);
    for (std::size_t i = 0; i < items; ++i) {
        for (std::size_t c = 0; c < classes; ++c) {
            errors[c] = error(i, c) - means[c];
        }
        worst = std::max(worst, spread(errors));
    }
    std::ranges::transform(means, margin.offsets.begin(), [](double mean) { return static_cast<float>(mean); });
    margin.bound = static_cast<float>(safety * worst);
    return margin;
}

}  // namespace sluice
