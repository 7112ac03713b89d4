#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/classifier/conv_parts.hpp"
#include "kernels/cuda/classifier/conv_simt.hpp"
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

/// Which of the kernels: for fp32 there is one.
struct Kind {
    Precision precision;
    MatrixInstructions instructions = MatrixInstructions::mma;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
    return out << "precision " << static_cast<int>(kind.precision)
               << (kind.instructions == MatrixInstructions::mma ? " mma" : " wgmma");
}

constexpr Precision of_tensor_cores[] = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3};

class Convolution : public OnGpu {
protected:
    /// What this GPU runs.
    [[nodiscard]] std::vector<Kind> kinds() const {
        std::vector<Kind> all{{Precision::fp32}};
        for (const Precision precision : of_tensor_cores) {
            all.push_back({precision, MatrixInstructions::mma});
            if (gpu().instructions() == MatrixInstructions::wgmma) {
                all.push_back({precision, MatrixInstructions::wgmma});
            }
        }
        return all;
    }

    /// Runs one on encoded items, with room for one more, which must stay as it is.
    static std::vector<float> run(const Case& c, const Kind& kind, std::span<const std::byte> in,
                                  std::span<const float> weights, std::span<const float> bias,
                                  ConvGemmOptions options = {}) {
        const Precision precision = kind.precision;
        const std::size_t item_values = std::size_t{c.shape.positions() / c.shape.pool} * c.shape.outputs;
        const DeviceMemory in_memory(in);
        const DeviceMemory weight_memory(std::span<const std::byte>(pack_conv_weights(c.shape, precision, weights)));
        const DeviceMemory bias_memory(std::as_bytes(bias));
        const DeviceMemory out((c.items + 1) * item_values * element_bytes(precision));
        const ConvGemmMemory memory{in_memory.as(), weight_memory.as(), bias_memory.as<float>(), out.as()};
        if (precision == Precision::fp32) {
            ConvSimt(c.shape, c.items, memory).enqueue(c.items, nullptr);
        } else {
            options.instructions = kind.instructions;
            ConvGemm(c.shape, precision, c.items, memory, options).enqueue(nullptr);
        }
        check_cuda(cudaDeviceSynchronize(), "convolution");
        std::vector<float> result = decode(precision, out.content(), c.shape.outputs);
        const auto beyond = result.begin() + static_cast<std::ptrdiff_t>(c.items * item_values);
        EXPECT_TRUE(std::all_of(beyond, result.end(), [](float x) { return std::isnan(x); })) << "wrote too far";
        result.erase(beyond, result.end());
        return result;
    }

    /// Compares one with the plain one.
    static void check(const Case& c, const Kind& kind) {
        const auto& s = c.shape;
        SCOPED_TRACE(testing::Message() << "length " << s.length << " taps " << s.taps << " items " << c.items << " "
                                        << kind);
        const auto in = rounded(kind.precision, random_values(std::size_t{c.items} * s.length * s.channels, 1.0F, 1));
        const auto weights =
            rounded(kind.precision, random_values(std::size_t{s.outputs} * s.channels * s.taps, 0.05F, 2));
        const auto bias = random_values(s.outputs, 1.0F, 3);

        const std::vector<float> got = run(c, kind, encode(kind.precision, in, s.channels), weights, bias);

        EXPECT_LT(relative_error(got, plain(s, c.items, in, weights, bias)), tolerance(kind.precision));
    }
};

const Case cases_of_all_kinds[] = {
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
    for (const Case& c : cases_of_all_kinds) {
        for (const Kind& kind : kinds()) {
            check(c, kind);
        }
    }
}

/// Fewer outputs, and more taps, than wgmma's kernel takes; one tap and two are fetched further ahead than a piece.
TEST_F(Convolution, ByMmaTakesSizesOfItsOwn) {
    const Case cases_of_mma[] = {
        {{.length = 40, .channels = 320, .outputs = 128, .taps = 1}, 5},
        {{.length = 9, .channels = 192, .outputs = 128, .taps = 1, .relu = true, .pool = 3}, 33},
        {{.length = 31, .channels = 256, .outputs = 384, .taps = 2, .relu = true}, 31},
        {{.length = 99, .channels = 64, .outputs = 128, .taps = 77}, 3},
        {{.length = 129, .channels = 64, .outputs = 1152, .taps = 109, .relu = false, .pool = 3}, 1},
        {{.length = 3, .channels = 64, .outputs = 128, .taps = 3}, 1000},
    };
    for (const Case& c : cases_of_mma) {
        for (const Precision precision : of_tensor_cores) {
            check(c, {precision, MatrixInstructions::mma});
        }
    }
}

TEST_F(Convolution, ByMmaRefusesSizesThatDoNotFit) {
    const DeviceMemory memory(256);
    const ConvGemmMemory everywhere{memory.as(), memory.as(), memory.as<float>(), memory.as()};
    const ConvGemmShape good{.length = 99, .channels = 64, .outputs = 128, .taps = 3};
    const auto make = [&](auto change, Precision precision = Precision::bf16) {
        ConvGemmShape shape = good;
        change(shape);
        static_cast<void>(ConvGemm(shape, precision, 1, everywhere, {.instructions = MatrixInstructions::mma}));
    };

    EXPECT_NO_THROW(make([](ConvGemmShape&) {}));
    EXPECT_THROW(make([](ConvGemmShape&) {}, Precision::fp32), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.channels = 32; }), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.outputs = 64; }), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.taps = 78; }), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.taps = 0; }), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.pool = 2; }), ContractViolation);
    EXPECT_THROW(make([](ConvGemmShape& s) { s.pool = 3; }), ContractViolation);  // 97 positions
}

TEST_F(Convolution, ByWgmmaRefusesSizesThatDoNotFit) {
    if (gpu().instructions() != MatrixInstructions::wgmma) {
        GTEST_SKIP() << "no wgmma";
    }
    const DeviceMemory memory(1 << 20);
    const ConvGemmMemory everywhere{memory.as(), memory.as(), memory.as<float>(), memory.as()};
    const auto make = [&](const ConvGemmShape& shape) {
        const ConvGemmOptions options{.instructions = MatrixInstructions::wgmma};
        static_cast<void>(ConvGemm(shape, Precision::bf16, 1, everywhere, options));
    };

    EXPECT_NO_THROW(make({.length = 99, .channels = 64, .outputs = 1024, .taps = 9}));
    EXPECT_THROW(make({.length = 99, .channels = 64, .outputs = 1280, .taps = 9}), ContractViolation);
    EXPECT_THROW(make({.length = 99, .channels = 64, .outputs = 128, .taps = 9}), ContractViolation);
    EXPECT_THROW(make({.length = 99, .channels = 32, .outputs = 256, .taps = 9}), ContractViolation);
    EXPECT_THROW(make({.length = 99, .channels = 64, .outputs = 256, .taps = 10}), ContractViolation);
    EXPECT_NO_THROW(make({.length = 99, .channels = 64, .outputs = 256, .taps = 7, .relu = true, .pool = 3}));
    EXPECT_THROW(make({.length = 99, .channels = 64, .outputs = 256, .taps = 10, .relu = true, .pool = 3}),
                 ContractViolation);
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
    for (const Kind& kind : kinds()) {
        SCOPED_TRACE(kind);
        for (const std::uint32_t lead : {0U, 3U}) {
            const std::vector<float> got =
                run(many, kind, encode(kind.precision, in, many.shape.channels), weights, bias, {.lead_steps = lead});

            const std::size_t item_values = got.size() / many.items;
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i], got[i % item_values]) << "item " << i / item_values;
            }
        }
    }
}

TEST_F(Convolution, LeavesNoNumberOfWhatIsNone) {
    constexpr std::size_t item_of_nan = 1;
    constexpr std::size_t position_of_nan = 10;
    const Case cases[] = {{{.length = 30, .channels = 64, .outputs = 512, .taps = 4, .relu = true, .pool = 3}, 3},
                          {{.length = 30, .channels = 64, .outputs = 256, .taps = 3, .relu = true}, 3}};
    for (const Case& c : cases) {
        const auto& s = c.shape;
        const auto bias = random_values(s.outputs, 1.0F, 3);
        for (const Kind& kind : kinds()) {
            SCOPED_TRACE(testing::Message() << "pool " << s.pool << ' ' << kind);
            const auto in =
                encode_with_nan(kind.precision, random_values(std::size_t{c.items} * s.length * s.channels, 1.0F, 1),
                                s.channels, (item_of_nan * s.length + position_of_nan) * s.channels + 5);
            const auto weights =
                rounded(kind.precision, random_values(std::size_t{s.outputs} * s.channels * s.taps, 0.05F, 2));

            const std::vector<float> got = run(c, kind, in, weights, bias);

            const std::size_t pooled = s.positions() / s.pool;
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < got.size(); ++i) {
                const std::size_t first = i / s.outputs % pooled * s.pool;  // position before pooling
                const bool reads_it = i / s.outputs / pooled == item_of_nan && first < position_of_nan + 1 &&
                                      position_of_nan < first + s.pool - 1 + s.taps;
                wrong += std::isnan(got[i]) == reads_it ? 0 : 1;
            }
            EXPECT_EQ(wrong, 0U);
        }
    }
}

TEST_F(Convolution, DoesNothingForNoItems) {
    const Case none{{.length = 9, .channels = 64, .outputs = 256, .taps = 3}, 0};
    const DeviceMemory memory(1 << 20);
    const ConvGemmMemory everywhere{memory.as(), memory.as(), memory.as<float>(), memory.as()};

    ConvGemm(none.shape, Precision::bf16, 0, everywhere).enqueue(nullptr);
    ConvGemm(none.shape, Precision::bf16, 0, everywhere, {.instructions = MatrixInstructions::mma}).enqueue(nullptr);
    ConvSimt(none.shape, 1, everywhere).enqueue(0, nullptr);

    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(ConvolutionWeights, RefuseAnotherSize) {
    const ConvGemmShape shape{.length = 9, .channels = 64, .outputs = 256, .taps = 3};

    EXPECT_ANY_THROW(static_cast<void>(pack_conv_weights(shape, Precision::bf16, std::vector<float>(5))));
}

TEST(ConvolutionWeights, ComeInTwoPartsForTf32x3) {
    const ConvGemmShape shape{.length = 9, .channels = 64, .outputs = 256, .taps = 3};
    const std::vector<float> weights = random_values(std::size_t{256} * 64 * 3, 1.0F, 4);

    const std::vector<float> packed = decode(Precision::fp32, pack_conv_weights(shape, Precision::tf32x3, weights));

    ASSERT_EQ(packed.size(), 2 * weights.size());
    for (std::size_t o = 0; o < shape.outputs; ++o) {
        for (std::size_t k = 0; k < shape.taps; ++k) {
            for (std::size_t c = 0; c < shape.channels; ++c) {
                const float weight = weights[(o * shape.channels + c) * shape.taps + k];
                const float* const first = &packed[(o * shape.taps + k) * 2 * shape.channels + c];
                const float second = first[shape.channels];
                ASSERT_EQ(*first, rounded(Precision::tf32, std::span(&weight, 1))[0]);
                ASSERT_EQ(second, rounded(Precision::tf32, std::span(&second, 1))[0]);
                const double value = static_cast<double>(weight);
                const double sum = static_cast<double>(*first) + static_cast<double>(second);
                ASSERT_NEAR(sum, value, std::ldexp(std::abs(value), -22));
            }
        }
    }
}

TEST(ConvolutionParts, AreMultipliedButForTheSmallestTwoTheLargestLast) {
    constexpr std::uint32_t part = 5;
    const ConvParts<true> parts(part);
    ASSERT_EQ(parts.pieces(), 3 * part);
    ASSERT_EQ(parts.row_pieces(), 2 * part);
    for (std::uint32_t i = 0; i < part; ++i) {
        EXPECT_EQ(std::pair(parts.input(i), parts.weights(i)), std::pair(part + i, i));
        EXPECT_EQ(std::pair(parts.input(part + i), parts.weights(part + i)), std::pair(i, part + i));
        EXPECT_EQ(std::pair(parts.input(2 * part + i), parts.weights(2 * part + i)), std::pair(i, i));
        EXPECT_EQ(ConvParts<false>(part).input(i), i);
        EXPECT_EQ(ConvParts<false>(part).weights(i), i);
    }
    EXPECT_EQ(ConvParts<false>(part).pieces(), part);
    EXPECT_EQ(ConvParts<false>(part).row_pieces(), part);
}

}  // namespace
}  // namespace sluice
