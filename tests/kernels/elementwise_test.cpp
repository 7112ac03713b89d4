#include "kernels/host/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

/// Two units of the last place.
constexpr double two_places = 2.4e-7;

TEST(Elementwise, RaisesEToAnyPower) {
    std::vector<float> in;
    for (float x = -87; x <= 88; x += 0.0137F) {
        in.push_back(x);
    }
    std::vector<float> out(in.size());

    exp_all(in.size(), in.data(), out.data());

    for (std::size_t i = 0; i < in.size(); ++i) {
        const double exact = std::exp(static_cast<double>(in[i]));
        ASSERT_LE(std::abs(out[i] - exact) / exact, two_places) << in[i];
    }
}

TEST(Elementwise, KeepsItsRangeAndNaN) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> in{-infinity, -1000, infinity, 1000, std::numeric_limits<float>::quiet_NaN(), 0};
    std::vector<float> out(in.size());

    exp_all(in.size(), in.data(), out.data());

    EXPECT_LT(out[0], 1e-37F);
    EXPECT_EQ(out[0], out[1]);
    EXPECT_GT(out[2], 1e38F);
    EXPECT_EQ(out[2], out[3]);
    EXPECT_TRUE(std::isnan(out[4]));
    EXPECT_EQ(out[5], 1);
}

TEST(Elementwise, GivesAValueTheSameBitsWhereverItLies) {
    constexpr std::size_t most = 70;
    const std::vector<float> in = random_floats(most, 1);
    std::vector<float> alone(most);
    for (std::size_t i = 0; i < most; ++i) {
        exp_all(1, &in[i], &alone[i]);
    }
    for (std::size_t first = 0; first < 20; ++first) {
        for (std::size_t count = 1; first + count <= most; ++count) {
            std::vector<float> out(count);

            exp_all(count, &in[first], out.data());

            ASSERT_EQ(std::memcmp(out.data(), &alone[first], count * sizeof(float)), 0) << first << ", " << count;
        }
    }
}

struct Gates {
    explicit Gates(std::size_t units, float scale)
        : hidden(units),
          in(random_floats(3 * units, 1)),
          own(random_floats(3 * units, 2)),
          state(random_floats(units, 3)) {
        for (float& x : in) {
            x *= scale;
        }
    }

    std::size_t hidden;
    std::vector<float> in, own, state;
};

TEST(GruGates, MatchTheirFormulaForAnyNumberOfUnits) {
    for (const std::size_t hidden : {1U, 3U, 4U, 15U, 16U, 17U, 100U, 1024U}) {
        for (const float scale : {0.001F, 1.0F, 50.0F}) {
            const Gates g(hidden, scale);
            std::vector<float> state = g.state;

            gru_gates(hidden, g.in.data(), g.own.data(), state.data());

            for (std::size_t j = 0; j < hidden; ++j) {
                const auto sum = [&](std::size_t gate) {
                    return static_cast<double>(g.in[gate * hidden + j] + g.own[gate * hidden + j]);
                };
                const double r = 1 / (1 + std::exp(-sum(0)));
                const double z = 1 / (1 + std::exp(-sum(1)));
                const double n = std::tanh(g.in[2 * hidden + j] + r * g.own[2 * hidden + j]);
                ASSERT_NEAR(state[j], (1 - z) * n + z * g.state[j], 4e-7) << hidden << ", unit " << j;
            }
        }
    }
}

TEST(GruGates, GiveAUnitTheSameBitsWhereverItLies) {
    constexpr std::size_t most = 40;
    const Gates g(most, 1);
    std::vector<float> all = g.state;
    gru_gates(most, g.in.data(), g.own.data(), all.data());
    for (std::size_t j = 0; j < most; ++j) {
        const float in[]{g.in[j], g.in[most + j], g.in[2 * most + j]};
        const float own[]{g.own[j], g.own[most + j], g.own[2 * most + j]};
        float state = g.state[j];

        gru_gates(1, in, own, &state);

        EXPECT_EQ(state, all[j]) << j;
    }
}

TEST(GruGates, AndPowersHaveTheSameBitsWithAnyInstructions) {
    constexpr std::size_t count = 3001;
    std::vector<float> in = random_floats(count, 4);
    for (float& x : in) {
        x *= 90;
    }
    const Gates g(count, 4);
    std::vector<float> powers(count);
    std::vector<float> state = g.state;
    exp_all(count, in.data(), powers.data());
    gru_gates(count, g.in.data(), g.own.data(), state.data());

    ASSERT_GE(elementwise_builds().size(), 1U);
    for (const ElementwiseBuild& build : elementwise_builds()) {
        std::vector<float> same_powers(count);
        std::vector<float> same_state = g.state;
        build.exp_all(count, in.data(), same_powers.data());
        build.gru_gates(count, g.in.data(), g.own.data(), same_state.data());
        EXPECT_EQ(std::memcmp(powers.data(), same_powers.data(), count * sizeof(float)), 0);
        EXPECT_EQ(std::memcmp(state.data(), same_state.data(), count * sizeof(float)), 0);
    }
}

TEST(Gelu, HasTheSameBitsWithAnyInstructions) {
    const std::vector<float> in = random_floats(1003, 3);
    std::vector<float> gelus = in;
    gelu_all(gelus.size(), gelus.data());

    for (const ElementwiseBuild& build : elementwise_builds()) {
        std::vector<float> same = in;
        build.gelu_all(same.size(), same.data());
        EXPECT_EQ(std::memcmp(same.data(), gelus.data(), same.size() * sizeof(float)), 0);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        const double x = static_cast<double>(in[i]);
        const double right = 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        EXPECT_NEAR(gelus[i], right, 1e-6 * std::max(1.0, std::abs(right)));
    }
}

/// From where nothing is left of a value to where all is.
std::vector<float> activation_inputs() {
    std::vector<float> in;
    for (float x = -12; x <= 12; x += 0.0173F) {
        in.push_back(x);
    }
    in.insert(in.end(), {0.0F, -100.0F, 100.0F, 1e-6F, -1e-6F});
    return in;
}

TEST(GeluErf, IsItsFormulaWithTheSameBitsWithAnyInstructions) {
    const std::vector<float> in = activation_inputs();
    std::vector<float> gelus = in;
    gelu_erf_all(gelus.size(), gelus.data());

    for (const ElementwiseBuild& build : elementwise_builds()) {
        std::vector<float> same = in;
        build.gelu_erf_all(same.size(), same.data());
        EXPECT_EQ(std::memcmp(same.data(), gelus.data(), same.size() * sizeof(float)), 0);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        const double x = static_cast<double>(in[i]);
        const double right = 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
        EXPECT_NEAR(gelus[i], right, 2.5e-7 * std::abs(x)) << x;
    }
}

TEST(Silu, IsItsFormulaWithTheSameBitsWithAnyInstructions) {
    const std::vector<float> in = activation_inputs();
    std::vector<float> silus = in;
    silu_all(silus.size(), silus.data());

    for (const ElementwiseBuild& build : elementwise_builds()) {
        std::vector<float> same = in;
        build.silu_all(same.size(), same.data());
        EXPECT_EQ(std::memcmp(same.data(), silus.data(), same.size() * sizeof(float)), 0);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        const double x = static_cast<double>(in[i]);
        EXPECT_NEAR(silus[i], x / (1 + std::exp(-x)), 4e-7 * std::abs(x)) << x;
    }
}

TEST(Activations, KeepNaN) {
    const auto of_nan = [](auto activate_all) {
        float x = std::numeric_limits<float>::quiet_NaN();
        activate_all(1, &x);
        return x;
    };

    EXPECT_TRUE(std::isnan(of_nan(gelu_all)));
    EXPECT_TRUE(std::isnan(of_nan(gelu_erf_all)));
    EXPECT_TRUE(std::isnan(of_nan(silu_all)));
}

/// A new gate of nearly nothing keeps its digits: 1 - 2 / (e^2x + 1) would lose them.
TEST(GruGates, KeepTheDigitsOfASmallValue) {
    const float in[]{0, -100, 1.25e-5F};
    const float own[]{0, 0, 0};
    float state = 0;

    gru_gates(1, in, own, &state);

    EXPECT_NEAR(state / 1.25e-5F, 1, 1e-6);
}

}  // namespace
}  // namespace sluice
