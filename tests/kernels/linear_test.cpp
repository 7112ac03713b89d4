#include <algorithm>
#include <cmath>
#include <limits>

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
    constexpr std::uint32_t most_items = 130;
    for (const LinearShape shape :
         {LinearShape{1, 1, false}, LinearShape{31, 4, false}, LinearShape{1000, 33, true, 8},
          LinearShape{.inputs = 12, .outputs = 200, .channels = 4}, LinearShape{8704, 130, true, 256}}) {
        for (const Precision precision : test::host_precisions()) {
            const auto weights = random_floats(std::size_t{shape.outputs} * shape.inputs, 1, precision);
            const auto bias = random_floats(shape.outputs, 2);
            const auto layer = packed_layer(precision, &DenseKernels::linear, shape, weights, bias);
            for (const std::size_t items : {1U, 2U, 3U, 31U, 33U, 63U, 64U, 65U, 130U}) {
                const auto in = random_floats(items * shape.inputs, 3, precision);

                const auto out = run_layer_floats(*layer, items, in, most_items);

                EXPECT_LT(relative_error(out, reference(shape, items, in, weights, bias)), fp32_tolerance)
                    << shape.inputs << " inputs, " << items << " items in " << name_of(precision);
            }
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

/// One chain of multiply-adds each 512 inputs, in their order: as kernels/host/invariant_product.hpp promises it.
float in_the_promised_order(const LinearShape& s, std::span<const float> in, std::span<const float> weights,
                            float bias) {
    constexpr std::size_t step = 512;
    float sum = bias;
    for (std::size_t first = 0; first < s.inputs; first += step) {
        float chain = 0;
        for (std::size_t i = first; i < std::min<std::size_t>(first + step, s.inputs); ++i) {
            chain = std::fma(in[i], weights[i], chain);
        }
        sum = sum + chain;
    }
    return s.relu ? std::max(sum, 0.0F) : sum;
}

TEST(Linear, AddsInOneOrderForAnyNumberOfItemsAndAnyPlace) {
    for (const LinearShape shape :
         {LinearShape{.inputs = 3, .outputs = 1}, LinearShape{.inputs = 1030, .outputs = 9, .relu = true},
          LinearShape{.inputs = 513, .outputs = 33}}) {
        constexpr std::uint32_t most = 1000;
        const auto weights = random_floats(std::size_t{shape.outputs} * shape.inputs, 1);
        const auto bias = random_floats(shape.outputs, 2);
        const auto layer = packed_layer(&DenseKernels::linear, shape, weights, bias);
        const auto in = random_floats(std::size_t{most} * shape.inputs, 3);
        std::vector<float> expected;
        for (std::size_t i = 0; i < std::size_t{most} * shape.outputs; ++i) {
            const std::size_t o = i % shape.outputs;
            expected.push_back(
                in_the_promised_order(shape, std::span(in).subspan(i / shape.outputs * shape.inputs, shape.inputs),
                                      std::span(weights).subspan(o * shape.inputs, shape.inputs), bias[o]));
        }
        for (const std::size_t items : {1U, 2U, 3U, 7U, 12U, 13U, 63U, 64U, 65U, 191U, 193U, 1000U}) {
            for (const std::size_t first : {std::size_t{0}, std::size_t{5}, most - items}) {
                const std::size_t begin = std::min(first, most - items);
                const std::vector<float> some(in.begin() + static_cast<std::ptrdiff_t>(begin * shape.inputs),
                                              in.begin() + static_cast<std::ptrdiff_t>((begin + items) * shape.inputs));

                const std::vector<float> out = run_layer_floats(*layer, items, some, most);

                ASSERT_TRUE(std::equal(out.begin(), out.end(),
                                       expected.begin() + static_cast<std::ptrdiff_t>(begin * shape.outputs)))
                    << shape.inputs << " inputs, items " << begin << " to " << begin + items;
            }
        }
    }
}

TEST(Linear, LetsNoNumberOfANeighbourIn) {
    constexpr LinearShape shape{.inputs = 300, .outputs = 40, .relu = true};
    const auto layer = packed_layer(&DenseKernels::linear, shape, random_floats(300 * 40, 1), random_floats(40, 2));
    auto in = random_floats(5 * 300, 3);
    const auto before = run_layer_floats(*layer, 5, in, 5);

    in[2 * 300 + 7] = std::numeric_limits<float>::quiet_NaN();
    const auto after = run_layer_floats(*layer, 5, in, 5);

    for (std::size_t i = 0; i < after.size(); ++i) {
        if (i / 40 == 2) {
            EXPECT_TRUE(std::isnan(after[i])) << "seen, not taken for 0";
        } else {
            EXPECT_EQ(after[i], before[i]);
        }
    }
}

}  // namespace
}  // namespace sluice
