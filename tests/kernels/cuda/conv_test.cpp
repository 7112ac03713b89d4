#include <algorithm>
#include <string>

#include "kernels/cuda/conv_gemm.hpp"
#include "kernels/cuda/conv_simt.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

struct Case {
    ConvGemmShape shape;
    std::uint32_t items;
};

std::vector<double> plain(const ConvGemmShape& shape, std::uint32_t items, std::span<const float> in,
                          std::span<const float> weights, std::span<const float> bias) {
    const std::size_t pooled = shape.positions() / shape.pool;
    std::vector<double> out(items * pooled * shape.outputs, -INFINITY);
    for (std::size_t item = 0; item < items; ++item) {
        for (std::size_t p = 0; p < shape.positions(); ++p) {
            for (std::size_t o = 0; o < shape.outputs; ++o) {
                double sum = static_cast<double>(bias[o]);
                for (std::size_t k = 0; k < shape.taps; ++k) {
                    for (std::size_t c = 0; c < shape.channels; ++c) {
                        sum += static_cast<double>(in[(item * shape.length + p + k) * shape.channels + c]) *
                               static_cast<double>(weights[(o * shape.channels + c) * shape.taps + k]);
                    }
                }
                double& to = out[(item * pooled + p / shape.pool) * shape.outputs + o];
                to = std::max(to, shape.relu ? std::max(sum, 0.0) : sum);
            }
        }
    }
    return out;
}

class Convolution : public OnGpu {
protected:
    /// Runs one, with room for one item more, which must stay as it is.
    static std::vector<float> run(const Case& c, Precision precision, std::span<const float> in,
                                  std::span<const float> weights, std::span<const float> bias,
                                  const ConvGemmOptions& options = {}) {
        const std::size_t item_values = std::size_t{c.shape.positions() / c.shape.pool} * c.shape.outputs;
        const DeviceMemory in_memory(std::span<const std::byte>(encode(precision, in)));
        const DeviceMemory weight_memory(std::span<const std::byte>(pack_conv_weights(c.shape, precision, weights)));
        const DeviceMemory bias_memory(std::as_bytes(bias));
        const DeviceMemory out((c.items + 1) * item_values * element_bytes(precision));
        const ConvGemmMemory memory{in_memory.as(), weight_memory.as(), bias_memory.as<float>(), out.as()};
        if (precision == Precision::fp32) {
            ConvSimt(c.shape, c.items, memory).enqueue(c.items, nullptr);
        } else {
            ConvGemm(c.shape, precision, c.items, memory, options).enqueue(c.items, nullptr);
        }
        check_cuda(cudaDeviceSynchronize(), "convolution");
        std::vector<float> result = decode(precision, out.content());
        const auto beyond = result.begin() + static_cast<std::ptrdiff_t>(c.items * item_values);
        EXPECT_TRUE(std::all_of(beyond, result.end(), [](float x) { return std::isnan(x); })) << "wrote too far";
        result.erase(beyond, result.end());
        return result;
    }
};

const Case cases[] = {
    {{.length = 3, .channels = 64, .outputs = 256, .taps = 1}, 1},
    {{.length = 3, .channels = 64, .outputs = 256, .taps = 3, .relu = true}, 1},
    {{.length = 9, .channels = 128, .outputs = 256, .taps = 7, .relu = true, .pool = 3}, 1},
    {{.length = 9, .channels = 64, .outputs = 256, .taps = 1, .relu = false, .pool = 3}, 33},
    {{.length = 30, .channels = 64, .outputs = 512, .taps = 4, .relu = true, .pool = 3}, 31},
    {{.length = 31, .channels = 192, .outputs = 256, .taps = 9, .relu = false}, 33},
    {{.length = 110, .channels = 256, .outputs = 256, .taps = 3, .relu = true}, 2},
    {{.length = 336, .channels = 256, .outputs = 256, .taps = 7, .relu = true, .pool = 3}, 1},
};

TEST_F(Convolution, EqualsAPlainOneAtOddSizesInEveryPrecision) {
    for (const Case& c : cases) {
        const auto& s = c.shape;
        for (const Precision precision : {Precision::bf16, Precision::tf32, Precision::fp32}) {
            SCOPED_TRACE("length " + std::to_string(s.length) + " taps " + std::to_string(s.taps) + " precision " +
                         std::to_string(static_cast<int>(precision)));
            const auto in = rounded(precision, random_values(std::size_t{c.items} * s.length * s.channels, 1.0F, 1));
            const auto weights =
                rounded(precision, random_values(std::size_t{s.outputs} * s.channels * s.taps, 0.05F, 2));
            const auto bias = random_values(s.outputs, 1.0F, 3);

            const std::vector<float> got = run(c, precision, in, weights, bias);

            EXPECT_LT(relative_error(got, plain(s, c.items, in, weights, bias)), tolerance(precision));
        }
    }
}

TEST_F(Convolution, GivesAnItemTheSameBitsWhereverItLies) {
    const Case many{{.length = 110, .channels = 256, .outputs = 256, .taps = 3, .relu = true}, 301};
    const auto one = random_values(std::size_t{many.shape.length} * many.shape.channels, 1.0F, 1);
    std::vector<float> in;
    for (std::uint32_t i = 0; i < many.items; ++i) {
        in.insert(in.end(), one.begin(), one.end());
    }
    const auto weights = random_values(std::size_t{256} * 256 * 3, 0.05F, 2);
    const auto bias = random_values(256, 1.0F, 3);
    for (const Precision precision : {Precision::bf16, Precision::tf32, Precision::fp32}) {
        for (const std::uint32_t lead : {0U, 3U}) {
            const std::vector<float> got = run(many, precision, in, weights, bias, {.lead_steps = lead});

            const std::size_t item_values = got.size() / many.items;
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i], got[i % item_values]) << "item " << i / item_values;
            }
        }
    }
}

TEST_F(Convolution, DoesNothingForNoItems) {
    const Case none{{.length = 9, .channels = 64, .outputs = 256, .taps = 3}, 0};
    const DeviceMemory memory(1 << 20);
    const ConvGemmMemory everywhere{memory.as(), memory.as(), memory.as<float>(), memory.as()};

    ConvGemm(none.shape, Precision::bf16, 1, everywhere).enqueue(0, nullptr);
    ConvSimt(none.shape, 1, everywhere).enqueue(0, nullptr);

    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(ConvolutionWeights, RefuseAnotherSize) {
    const ConvGemmShape shape{.length = 9, .channels = 64, .outputs = 256, .taps = 3};

    EXPECT_ANY_THROW(static_cast<void>(pack_conv_weights(shape, Precision::bf16, std::vector<float>(5))));
}

}  // namespace
}  // namespace sluice
