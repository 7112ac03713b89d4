#include <algorithm>

#include "core/error.hpp"
#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

std::vector<double> reference(const Conv1dShape& s, std::size_t items, const std::vector<float>& in,
                              const std::vector<float>& weights, const std::vector<float>& bias) {
    std::vector<double> out;
    for (std::size_t n = 0; n < items; ++n) {
        for (std::size_t q = 0; q < s.positions() / s.pool; ++q) {
            for (std::size_t o = 0; o < s.out_channels; ++o) {
                double best = -1e300;
                for (std::size_t p = q * s.pool; p < (q + 1) * s.pool; ++p) {
                    double sum = bias[o];
                    for (std::size_t i = 0; i < s.in_channels; ++i) {
                        for (std::size_t k = 0; k < s.taps; ++k) {
                            sum += static_cast<double>(weights[(o * s.in_channels + i) * s.taps + k]) *
                                   in[(n * s.length + p + k) * s.in_channels + i];
                        }
                    }
                    best = std::max(best, s.relu ? std::max(sum, 0.0) : sum);
                }
                out.push_back(best);
            }
        }
    }
    return out;
}

class Conv1dShapes : public testing::TestWithParam<Conv1dShape> {};

TEST_P(Conv1dShapes, MatchesAPlainReferenceForAnyNumberOfItems) {
    const Conv1dShape shape = GetParam();
    for (const Precision precision : test::host_precisions()) {
        const auto weights =
            random_floats(std::size_t{shape.out_channels} * shape.in_channels * shape.taps, 1, precision);
        const auto bias = random_floats(shape.out_channels, 2);
        const auto layer = packed_layer(precision, &ConvolutionKernels::conv1d, shape, weights, bias);
        for (const std::size_t items : {1U, 3U, 7U}) {
            const auto in = random_floats(items * shape.length * shape.in_channels, 3, precision);

            const auto out = run_layer_floats(*layer, items, in, 7);

            EXPECT_LT(relative_error(out, reference(shape, items, in, weights, bias)), fp32_tolerance)
                << items << " in " << name_of(precision);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv1dShapes,
                         testing::Values(Conv1dShape{8, 4, 5, 1, false, 1}, Conv1dShape{9, 16, 16, 7, true, 3},
                                         Conv1dShape{33, 31, 33, 3, true, 1}, Conv1dShape{66, 64, 64, 3, false, 2},
                                         Conv1dShape{7, 1, 1, 7, false, 1}));

TEST(Conv1d, RefusesShapesThatDoNotFit) {
    const std::vector<float> weights(3 * 2 * 2);
    const std::vector<float> bias(2);
    const auto make = [&](const Conv1dShape& shape) {
        return packed_layer(&ConvolutionKernels::conv1d, shape, weights, bias);
    };

    EXPECT_THROW((void)make({2, 2, 2, 3, false, 1}), ContractViolation);
    EXPECT_THROW((void)make({6, 2, 2, 3, false, 3}), ContractViolation);
    EXPECT_THROW((void)make({5, 2, 3, 3, false, 3}), ContractViolation);
}

TEST(Conv1d, RefusesMoreItemsThanItWasMadeFor) {
    HostDevice device;
    const auto layer = packed_layer(&ConvolutionKernels::conv1d, Conv1dShape{1, 1, 1, 1, false, 1},
                                    std::vector<float>{1}, std::vector<float>{0});
    const auto operation = layer->make_operation(device, 2);
    const auto stream = device.make_stream({});
    const Buffer in = device.allocate(MemorySpace::device, 12);
    const Buffer out = device.allocate(MemorySpace::device, 12);

    EXPECT_THROW(operation->enqueue(*stream, {3}, in.bytes(), out.bytes()), ContractViolation);
    EXPECT_THROW(operation->enqueue(*stream, {2}, in.bytes(), out.bytes()), ContractViolation);
}

}  // namespace
}  // namespace sluice
