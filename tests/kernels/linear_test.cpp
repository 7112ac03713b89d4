#include <algorithm>

#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

std::vector<double> reference(const LinearShape& s, std::size_t items, const std::vector<float>& in,
                              const std::vector<float>& weights, const std::vector<float>& bias) {
    std::vector<double> out;
    for (std::size_t n = 0; n < items; ++n) {
        for (std::size_t o = 0; o < s.outputs; ++o) {
            double sum = bias[o];
            for (std::size_t i = 0; i < s.inputs; ++i) {
                // The weights count channel by channel, the memory position by position.
                const std::size_t weight = i % s.channels * (s.inputs / s.channels) + i / s.channels;
                sum += static_cast<double>(weights[o * s.inputs + weight]) * in[n * s.inputs + i];
            }
            out.push_back(s.relu ? std::max(sum, 0.0) : sum);
        }
    }
    return out;
}

TEST(Linear, MatchesAPlainReferenceForAnyNumberOfItems) {
    constexpr std::uint32_t max_items = 130;
    for (const LinearShape shape :
         {LinearShape{1, 1, false}, LinearShape{31, 4, false}, LinearShape{1000, 33, true},
          LinearShape{.inputs = 12, .outputs = 200, .channels = 4}, LinearShape{8704, 130, true, 256}}) {
        const auto weights = random_floats(std::size_t{shape.outputs} * shape.inputs, 1);
        const auto bias = random_floats(shape.outputs, 2);
        const auto layer = packed_layer(&DenseKernels::linear, shape, weights, bias);
        for (const std::size_t items : {1U, 2U, 3U, 31U, 33U, 63U, 64U, 65U, 130U}) {
            const auto in = random_floats(items * shape.inputs, 3);

            const auto out = run_layer_floats(*layer, items, in, max_items);

            EXPECT_LT(relative_error(out, reference(shape, items, in, weights, bias)), fp32_tolerance)
                << shape.inputs << " inputs, " << items << " items";
        }
    }
}

TEST(Linear, GivesTheSameBitsWhateverItWasMadeFor) {
    const auto layer =
        packed_layer(&DenseKernels::linear, LinearShape{300, 20, true}, random_floats(6000, 1), random_floats(20, 2));
    const auto in = random_floats(7 * 300, 3);

    const auto seven = run_layer_floats(*layer, 7, in, 7);
    const auto hundred = run_layer_floats(*layer, 7, in, 100);

    EXPECT_EQ(seven, hundred);
}

}  // namespace
}  // namespace sluice
