#include "kernels/margin.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

/// errors, scores: (items, classes), the scores with their offsets.
class Spread {
public:
    Spread(std::size_t classes, double usual) : classes_(classes), usual_(usual), squares_(classes * classes) {}

    void add(std::span<const double> errors, std::span<const double> scores) {
        double size = usual_;
        for (const double score : scores) {
            size = std::max(size, usual_ + std::abs(score));
        }
        ++items_;
        for (std::size_t a = 0; a < classes_; ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                const double difference = errors[a] - errors[b];
                const double error = difference == 0 ? 0 : difference / size;  // infinite where scores have no size
                squares_[a * classes_ + b] += error * error;
                worst_ = std::max(worst_, std::abs(error));
            }
        }
    }

    [[nodiscard]] double bound() const {
        const double most = *std::ranges::max_element(squares_);
        return std::max(worst_, margin_deviations * std::sqrt(most / static_cast<double>(items_)));
    }

private:
    std::size_t classes_;
    double usual_;
    std::vector<double> squares_;  // of the error of class a's score less class b's
    double worst_ = 0;
    std::size_t items_ = 0;
};

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
    double squares = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
        squares += std::pow(static_cast<double>(fast[i]) + means[i % classes], 2);
    }
    const double usual = std::sqrt(squares / static_cast<double>(fast.size()));
    Spread spread(classes, usual);
    std::vector<double> errors(classes);
    std::vector<double> scores(classes);
    for (std::size_t i = 0; i < items; ++i) {
        for (std::size_t c = 0; c < classes; ++c) {
            scores[c] = static_cast<double>(fast[i * classes + c]) + means[c];
            errors[c] = error(i, c) - means[c];
        }
        spread.add(errors, scores);
    }
    std::ranges::transform(means, margin.offsets.begin(), [](double mean) { return static_cast<float>(mean); });
    margin.usual = static_cast<float>(usual);
    margin.bound = static_cast<float>(spread.bound());
    return margin;
}

}  // namespace sluice
