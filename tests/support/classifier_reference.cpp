#include "tests/support/classifier_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sluice::classifier {
namespace {

template <class Real>
using Matrix = std::vector<std::vector<Real>>;  // [channel][position]

/// Takes tensors off the front of the weights, in file order.
class Reader {
public:
    explicit Reader(std::span<const float> weights) : rest_(weights) {}

    std::span<const float> take(std::size_t count) {
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

private:
    std::span<const float> rest_;
};

template <class Real>
Matrix<Real> convolve(Reader& reader, const Matrix<Real>& in, std::size_t filters, std::size_t taps) {
    const std::size_t positions = in[0].size() - taps + 1;
    const auto weights = reader.take(filters * in.size() * taps);
    const auto bias = reader.take(filters);
    Matrix<Real> out(filters, std::vector<Real>(positions));
    for (std::size_t o = 0; o < filters; ++o) {
        std::fill(out[o].begin(), out[o].end(), static_cast<Real>(bias[o]));
        for (std::size_t i = 0; i < in.size(); ++i) {
            for (std::size_t k = 0; k < taps; ++k) {
                const Real weight = weights[(o * in.size() + i) * taps + k];
                for (std::size_t p = 0; p < positions; ++p) {
                    out[o][p] += weight * in[i][p + k];
                }
            }
        }
    }
    return out;
}

template <class Real>
void normalise(Reader& reader, Matrix<Real>& x) {
    const std::size_t positions = x[0].size();
    const auto gamma = reader.take(x.size() * positions);
    const auto beta = reader.take(x.size() * positions);
    const Real count = static_cast<Real>(x.size() * positions);
    Real sum = 0;
    for (const auto& row : x) {
        Real row_sum = 0;  // a sum of sums: one long fp32 sum would lose digits of its own
        for (const Real value : row) {
            row_sum += value;
        }
        sum += row_sum;
    }
    const Real mean = sum / count;
    Real squares = 0;
    for (const auto& row : x) {
        Real row_squares = 0;
        for (const Real value : row) {
            row_squares += (value - mean) * (value - mean);
        }
        squares += row_squares;
    }
    const Real root = std::sqrt(squares / count + static_cast<Real>(1e-5));
    for (std::size_t c = 0; c < x.size(); ++c) {
        for (std::size_t p = 0; p < positions; ++p) {
            x[c][p] = (x[c][p] - mean) / root * gamma[c * positions + p] + beta[c * positions + p];
        }
    }
}

template <class Real>
void rectify(Matrix<Real>& x) {
    for (auto& row : x) {
        for (Real& value : row) {
            value = std::max(value, Real{0});
        }
    }
}

template <class Real>
Matrix<Real> pool(const Matrix<Real>& in) {
    Matrix<Real> out(in.size(), std::vector<Real>(in[0].size() / 3));
    for (std::size_t c = 0; c < in.size(); ++c) {
        for (std::size_t q = 0; q < out[c].size(); ++q) {
            out[c][q] = std::max({in[c][3 * q], in[c][3 * q + 1], in[c][3 * q + 2]});
        }
    }
    return out;
}

template <class Real>
std::vector<Real> connect(Reader& reader, const std::vector<Real>& in, std::size_t outputs, bool relu) {
    const auto weights = reader.take(outputs * in.size());
    const auto bias = reader.take(outputs);
    std::vector<Real> out(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
        Real sum = bias[o];
        for (std::size_t i = 0; i < in.size(); ++i) {
            sum += static_cast<Real>(weights[o * in.size() + i]) * in[i];
        }
        out[o] = relu ? std::max(sum, Real{0}) : sum;
    }
    return out;
}

}  // namespace

template <class Real>
std::vector<Real> classifier_reference(std::span<const float> weights, std::span<const std::uint8_t> symbols,
                                       std::size_t channels, std::size_t hidden) {
    Matrix<Real> x(70, std::vector<Real>(1014));
    for (std::size_t p = 0; p < 1014; ++p) {
        if (symbols[p] < 70) {
            x[symbols[p]][p] = 1;
        }
    }
    Reader reader(weights);
    x = convolve(reader, x, channels, 7);
    normalise(reader, x);
    rectify(x);
    x = pool(x);
    x = convolve(reader, x, channels, 7);
    rectify(x);
    x = pool(x);
    for (int layer = 3; layer <= 5; ++layer) {
        x = convolve(reader, x, channels, 3);
        rectify(x);
    }
    x = convolve(reader, x, channels, 3);
    normalise(reader, x);
    rectify(x);
    x = pool(x);
    std::vector<Real> flat;
    for (const auto& row : x) {
        flat.insert(flat.end(), row.begin(), row.end());
    }
    flat = connect(reader, flat, hidden, true);
    flat = connect(reader, flat, hidden, true);
    return connect(reader, flat, 4, false);
}

template std::vector<float> classifier_reference<float>(std::span<const float>, std::span<const std::uint8_t>,
                                                        std::size_t, std::size_t);
template std::vector<double> classifier_reference<double>(std::span<const float>, std::span<const std::uint8_t>,
                                                          std::size_t, std::size_t);

}  // namespace sluice::classifier
