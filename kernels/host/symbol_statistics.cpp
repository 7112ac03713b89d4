#include "kernels/host/symbol_statistics.hpp"

#include <algorithm>

namespace sluice {

SymbolStatistics::SymbolStatistics(const SymbolConvShape& shape, std::span<const float> table)
    : shape_(shape),
      rows_(shape.symbols + 1),
      sums_(shape.taps * rows_),
      sum_(rows_),
      products_(std::size_t{shape.taps} * shape.taps * rows_ * rows_),
      product_(shape.taps * rows_ * rows_) {
    const std::size_t taps = shape.taps;
    const std::size_t channels = shape.channels;
    const std::vector<double> wide(table.begin(), table.end());
    for (std::size_t row = 0; row < taps * rows_; ++row) {
        for (std::size_t c = 0; c < channels; ++c) {
            sums_[row] += wide[row * channels + c];
        }
        sum_[row % rows_] += sums_[row];
    }
    for (std::size_t d = 0; d < taps; ++d) {
        for (std::size_t k = 0; k + d < taps; ++k) {
            for (std::size_t a = 0; a < rows_; ++a) {
                for (std::size_t b = 0; b < rows_; ++b) {
                    const double* left = &wide[(k * rows_ + a) * channels];
                    const double* right = &wide[((k + d) * rows_ + b) * channels];
                    double partial[4] = {};
                    for (std::size_t c = 0; c < channels; c += 4) {
                        for (std::size_t lane = 0; lane < 4; ++lane) {
                            partial[lane] += left[c + lane] * right[c + lane];
                        }
                    }
                    const double dot = (partial[0] + partial[1] + partial[2] + partial[3]) * (d == 0 ? 1 : 2);
                    products_[pair(d, k) + a * rows_ + b] = dot;
                    product_[(d * rows_ + a) * rows_ + b] += dot;
                }
            }
        }
    }
}

NormScale SymbolStatistics::of(const std::uint8_t* symbols) const {
    const std::size_t taps = shape_.taps;
    const std::size_t positions = shape_.positions();
    double sum = 0;
    double squares = 0;
    const auto at_an_end = [&](std::size_t s, std::size_t d) {
        // Tap k sees symbol s at position s - k, which must exist, and tap k + d symbol s + d.
        const std::size_t first = s < positions ? 0 : s - positions + 1;
        const std::size_t last = std::min(taps - 1 - d, s);
        for (std::size_t k = first; k <= last && k + d < taps; ++k) {
            squares += products_[pair(d, k) + symbols[s] * rows_ + symbols[s + d]];
            if (d == 0) {
                sum += sums_[k * rows_ + symbols[s]];
            }
        }
    };
    for (std::size_t d = 0; d < taps; ++d) {
        const std::size_t inside = std::min(taps - 1 - d, positions);
        for (std::size_t s = 0; s < inside; ++s) {
            at_an_end(s, d);
        }
        const double* product = &product_[d * rows_ * rows_];
        for (std::size_t s = inside; s < positions; ++s) {
            squares += product[symbols[s] * rows_ + symbols[s + d]];
            if (d == 0) {
                sum += sum_[symbols[s]];
            }
        }
        for (std::size_t s = positions; s + d < shape_.length; ++s) {
            at_an_end(s, d);
        }
    }
    const double count = static_cast<double>(positions) * shape_.channels;
    const double mean = sum / count;
    return norm_scale(mean, squares / count - mean * mean);
}

}  // namespace sluice
