#include "kernels/host/symbol_statistics.hpp"

#include <algorithm>

namespace sluice {

namespace {

/// Offsets of the values, in doubles.
struct Places {
    explicit Places(const SymbolConvShape& shape) noexcept : taps(shape.taps), rows(shape.symbols + 1) {}

    std::size_t taps;
    std::size_t rows;

    /// sum(T[k][a]).
    [[nodiscard]] std::size_t sum(std::size_t tap, std::size_t a) const noexcept { return tap * rows + a; }
    /// Over all taps.
    [[nodiscard]] std::size_t sum_of_all(std::size_t a) const noexcept { return taps * rows + a; }
    /// (rows, rows): dot(T[k][a], T[k + distance][b]), twice if distance > 0.
    [[nodiscard]] std::size_t products(std::size_t distance, std::size_t tap) const noexcept {
        return (taps + 1) * rows + (distance * (taps + 1) + tap) * rows * rows;
    }
    /// Over all taps k for which tap k + distance exists.
    [[nodiscard]] std::size_t products_of_all(std::size_t distance) const noexcept { return products(distance, taps); }
    [[nodiscard]] std::size_t end() const noexcept { return products(taps, 0); }
};

double dot(const double* left, const double* right, std::size_t count) {
    double partial[4] = {};
    for (std::size_t c = 0; c < count; c += 4) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            partial[lane] += left[c + lane] * right[c + lane];
        }
    }
    return partial[0] + partial[1] + partial[2] + partial[3];
}

std::vector<double> widened(const std::vector<float>& table) {
    return {table.begin(), table.end()};
}

void write_sums(const SymbolConvShape& shape, const std::vector<double>& table, double* values) {
    const Places at(shape);
    for (std::size_t k = 0; k < at.taps; ++k) {
        for (std::size_t a = 0; a < at.rows; ++a) {
            double sum = 0;
            for (std::size_t c = 0; c < shape.channels; ++c) {
                sum += table[(k * at.rows + a) * shape.channels + c];
            }
            values[at.sum(k, a)] = sum;
            values[at.sum_of_all(a)] = sum + (k == 0 ? 0 : values[at.sum_of_all(a)]);
        }
    }
}

void write_products(const SymbolConvShape& shape, const std::vector<double>& table, std::size_t distance,
                    double* values) {
    const Places at(shape);
    const std::size_t channels = shape.channels;
    for (std::size_t k = 0; k + distance < at.taps; ++k) {
        for (std::size_t a = 0; a < at.rows; ++a) {
            for (std::size_t b = 0; b < at.rows; ++b) {
                const std::size_t pair = a * at.rows + b;
                const double product = dot(&table[(k * at.rows + a) * channels],
                                           &table[((k + distance) * at.rows + b) * channels], channels) *
                                       (distance == 0 ? 1 : 2);
                double& all = values[at.products_of_all(distance) + pair];
                values[at.products(distance, k) + pair] = product;
                all = product + (k == 0 ? 0 : all);
            }
        }
    }
}

}  // namespace

std::size_t SymbolStatistics::bytes(const SymbolConvShape& shape) {
    return Places(shape).end() * sizeof(double);
}

std::vector<PackedWeights::Part> SymbolStatistics::parts(const SymbolConvShape& shape, const MakeTable& table) {
    const auto values = [](std::byte* room) { return reinterpret_cast<double*>(room); };
    std::vector<PackedWeights::Part> parts{[=](std::byte* room) { write_sums(shape, widened(table()), values(room)); }};
    for (std::size_t distance = 0; distance < shape.taps; ++distance) {
        parts.emplace_back([=](std::byte* room) { write_products(shape, widened(table()), distance, values(room)); });
    }
    return parts;
}

NormScale SymbolStatistics::of(const std::uint8_t* symbols) const {
    const Places at(shape_);
    const std::size_t taps = at.taps;
    const std::size_t positions = shape_.positions();
    const double* sums = &values_[at.sum_of_all(0)];
    double sum = 0;
    double squares = 0;
    const auto at_an_end = [&](std::size_t s, std::size_t d) {
        // Tap k sees symbol s at position s - k, which must exist, and tap k + d symbol s + d.
        const std::size_t first = s < positions ? 0 : s - positions + 1;
        const std::size_t last = std::min(taps - 1 - d, s);
        for (std::size_t k = first; k <= last && k + d < taps; ++k) {
            squares += values_[at.products(d, k) + symbols[s] * at.rows + symbols[s + d]];
            if (d == 0) {
                sum += values_[at.sum(k, symbols[s])];
            }
        }
    };
    for (std::size_t d = 0; d < taps; ++d) {
        const std::size_t inside = std::min(taps - 1 - d, positions);
        for (std::size_t s = 0; s < inside; ++s) {
            at_an_end(s, d);
        }
        const double* product = &values_[at.products_of_all(d)];
        for (std::size_t s = inside; s < positions; ++s) {
            squares += product[symbols[s] * at.rows + symbols[s + d]];
            if (d == 0) {
                sum += sums[symbols[s]];
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
