#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cuda/classifier/label.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/classifier/norm_pool.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

constexpr Precision of_one_part[] = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32};

class Norm : public OnGpu {};
class Linear : public OnGpu {};
class Labels : public OnGpu {};

std::vector<double> plain_norm(const NormPoolShape& s, std::uint32_t items, std::span<const float> in,
                               std::span<const float> gamma, std::span<const float> beta) {
    const std::size_t count = std::size_t{s.positions} * s.channels;
    std::vector<double> out(items * count / NormPoolShape::pool);
    for (std::size_t item = 0; item < items; ++item) {
        const auto x = in.subspan(item * count, count);
        double mean = 0;
        for (const float value : x) {
            mean += static_cast<double>(value) / static_cast<double>(count);
        }
        double variance = 0;
        for (const float value : x) {
            variance += std::pow(static_cast<double>(value) - mean, 2) / static_cast<double>(count);
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t p = i / s.channels;
            const std::size_t c = i % s.channels;
            const std::size_t at = c * s.positions + p;
            double& to = out[item * count / NormPoolShape::pool + p / NormPoolShape::pool * s.channels + c];
            to = std::max(
                to, (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gamma[at]) +
                        static_cast<double>(beta[at]));
        }
    }
    return out;
}

std::vector<float> run_norm(const NormPoolShape& shape, Precision precision, std::uint32_t items,
                            std::span<const std::byte> in, std::span<const float> gamma, std::span<const float> beta) {
    const DeviceMemory in_memory{in};
    const DeviceMemory gamma_memory{std::span<const std::byte>(pack_norm(shape, precision, gamma))};
    const DeviceMemory beta_memory{std::span<const std::byte>(pack_norm(shape, precision, beta))};
    const Precision of_result = in_one_part(precision);
    const std::size_t pooled = std::size_t{items} * shape.positions * shape.channels / NormPoolShape::pool;
    const DeviceMemory out(pooled * element_bytes(of_result));
    NormPool(shape, precision, {in_memory.as(), gamma_memory.as(), beta_memory.as(), out.as()}).enqueue(items, nullptr);
    return decode(of_result, out.content());
}

TEST_F(Norm, EqualsAPlainOneAtOddSizesInEveryPrecision) {
    const std::pair<NormPoolShape, std::uint32_t> cases[] = {{{.positions = 3, .channels = 8}, 1},
                                                             {{.positions = 33, .channels = 40}, 31},
                                                             {{.positions = 102, .channels = 256}, 1},
                                                             {{.positions = 102, .channels = 256}, 1000}};
    for (const auto& [shape, items] : cases) {
        const std::size_t count = std::size_t{shape.positions} * shape.channels;
        const auto gamma = random_values(count, 1.0F, 1);
        const auto beta = random_values(count, 1.0F, 2);
        for (const Precision precision : every_precision) {
            SCOPED_TRACE(items);
            std::vector<float> in = random_values(items * count, 2.0F, 3);
            std::ranges::for_each(in, [](float& x) { x += 3; });
            in = rounded(precision, in);

            const std::vector<float> got =
                run_norm(shape, precision, items, encode(precision, in, shape.channels), gamma, beta);

            EXPECT_LT(relative_error(got, plain_norm(shape, items, in, gamma, beta)), tolerance(precision));
        }
    }
}

TEST_F(Norm, LeavesNoNumberOfAnItemWithOneThatIsNone) {
    constexpr NormPoolShape shape{.positions = 33, .channels = 40};
    constexpr std::uint32_t items = 3;
    constexpr std::size_t count = std::size_t{shape.positions} * shape.channels;
    const auto gamma = random_values(count, 1.0F, 1);
    const auto beta = random_values(count, 1.0F, 2);
    for (const Precision precision : every_precision) {
        const auto in = encode_with_nan(precision, random_values(items * count, 2.0F, 3), shape.channels, count + 7);

        const std::vector<float> got = run_norm(shape, precision, items, in, gamma, beta);

        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(std::isnan(got[i]), i / (count / NormPoolShape::pool) == 1) << i;
        }
    }
}

TEST_F(Linear, EqualsAPlainOneInEveryPrecision) {
    const LinearGemmShape shape{.inputs = 264, .outputs = 40, .relu = true};
    const DeviceMemory workspace(linear_workspace_bytes);
    for (const std::uint32_t items : {1U, 31U, 257U}) {
        for (const Precision precision : of_one_part) {
            const auto in = rounded(precision, random_values(std::size_t{items} * shape.inputs, 1.0F, 1));
            const auto weights = rounded(precision, random_values(std::size_t{shape.outputs} * shape.inputs, 0.1F, 2));
            const auto bias = rounded(precision, random_values(shape.outputs, 1.0F, 3));
            std::vector<double> expected;
            for (std::size_t i = 0; i < std::size_t{items} * shape.outputs; ++i) {
                double sum = static_cast<double>(bias[i % shape.outputs]);
                for (std::size_t k = 0; k < shape.inputs; ++k) {
                    sum += static_cast<double>(in[i / shape.outputs * shape.inputs + k]) *
                           static_cast<double>(weights[i % shape.outputs * shape.inputs + k]);
                }
                expected.push_back(std::max(sum, 0.0));
            }
            const DeviceMemory in_memory{std::span<const std::byte>(encode(precision, in))};
            const DeviceMemory weight_memory{std::span<const std::byte>(encode(precision, weights))};
            const DeviceMemory bias_memory{std::span<const std::byte>(encode(precision, bias))};
            DeviceMemory out(expected.size() * element_bytes(precision));

            for (const bool invariant : {false, true}) {
                LinearGemmShape as_asked = shape;
                as_asked.batch_invariant = invariant;
                const LinearGemm linear(as_asked, precision, items,
                                        {in_memory.as(), weight_memory.as(), bias_memory.as(), out.as(), workspace.as(),
                                         invariant ? 0 : linear_workspace_bytes});
                linear.enqueue(nullptr);

                EXPECT_LT(relative_error(decode(precision, out.content()), expected), tolerance(precision));
                out.poison();
            }
        }
    }
}

/// The outputs, as they lie in memory, of `items` items from `first` on.
std::vector<std::byte> run_invariant(const LinearGemmShape& shape, Precision precision, std::span<const float> in,
                                     const DeviceMemory& weights, const DeviceMemory& bias, std::size_t first,
                                     std::uint32_t items) {
    const auto some = in.subspan(first * shape.inputs, std::size_t{items} * shape.inputs);
    const DeviceMemory in_memory{std::span<const std::byte>(encode(precision, some))};
    const DeviceMemory out(std::size_t{items} * shape.outputs * element_bytes(precision));
    LinearGemm(shape, precision, items, {in_memory.as(), weights.as(), bias.as(), out.as(), nullptr, 0})
        .enqueue(nullptr);
    return out.content();
}

TEST_F(Linear, GivesAnItemTheSameBitsInAnyCompanyWhereThatIsAsked) {
    constexpr std::uint32_t most = 1000;
    for (const LinearGemmShape shape :
         {LinearGemmShape{.inputs = 8704, .outputs = 1024, .relu = true, .batch_invariant = true},
          LinearGemmShape{.inputs = 768, .outputs = 2304, .batch_invariant = true},
          LinearGemmShape{.inputs = 3072, .outputs = 768, .batch_invariant = true},
          LinearGemmShape{.inputs = 264, .outputs = 40, .batch_invariant = true}}) {
        const auto in = random_values(std::size_t{most} * shape.inputs, 1.0F, 1);
        const auto weights = random_values(std::size_t{shape.outputs} * shape.inputs, 0.1F, 2);
        const auto bias = random_values(shape.outputs, 1.0F, 3);
        for (const Precision precision : of_one_part) {
            SCOPED_TRACE(testing::Message() << shape.inputs << " inputs, precision " << static_cast<int>(precision));
            const DeviceMemory weight_memory{std::span<const std::byte>(encode(precision, weights))};
            const DeviceMemory bias_memory{std::span<const std::byte>(encode(precision, bias))};
            const std::size_t item_bytes = shape.outputs * element_bytes(precision);
            const auto all = run_invariant(shape, precision, in, weight_memory, bias_memory, 0, most);
            for (const std::uint32_t items : {1U, 2U, 7U, 63U, 64U, 65U, 128U, 257U, 999U}) {
                for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{most - items}}) {
                    const auto some = run_invariant(shape, precision, in, weight_memory, bias_memory, first, items);

                    EXPECT_TRUE(std::equal(some.begin(), some.end(),
                                           all.begin() + static_cast<std::ptrdiff_t>(first * item_bytes)))
                        << items << " items from " << first << " on";
                }
            }
        }
    }
}

/// Hidden units are any multiple of 8 up to 8,192.
TEST_F(Linear, HasABatchInvariantProductForEverySizeOfTheClassifier) {
    const DeviceMemory anywhere(256);  // nothing runs
    for (const Precision precision : {Precision::tf32, Precision::fp32}) {
        for (const std::uint32_t hidden : {8U, 16U, 64U, 136U, 264U, 1000U, 1024U, 1544U, 2048U, 3072U, 4096U, 8192U}) {
            for (const std::uint32_t inputs : {8704U, hidden}) {
                for (const std::uint32_t items : {1U, 7U, 226U, 4096U, 12'096U}) {
                    const LinearGemmShape shape{
                        .inputs = inputs, .outputs = hidden, .relu = true, .batch_invariant = true};
                    EXPECT_NO_THROW(
                        LinearGemm(shape, precision, items,
                                   {anywhere.as(), anywhere.as(), anywhere.as(), anywhere.as(), nullptr, 0}))
                        << inputs << " to " << hidden << ", " << items << " items, precision "
                        << static_cast<int>(precision);
                }
            }
        }
    }
}

struct Record {
    std::int32_t label;
    float scores[5];
};

std::vector<Record> labels(std::span<const float> in, std::span<const float> weights, std::span<const float> bias,
                           std::uint32_t items, Precision precision) {
    const LabelShape shape{.inputs = static_cast<std::uint32_t>(in.size() / items), .classes = 5, .scores = true};
    const DeviceMemory in_memory{std::span<const std::byte>(encode(precision, in))};
    const DeviceMemory weight_memory(std::as_bytes(weights));
    const DeviceMemory bias_memory(std::as_bytes(bias));
    const DeviceMemory out(items * sizeof(Record));
    enqueue_labels(shape, precision,
                   {in_memory.as(), weight_memory.as<float>(), bias_memory.as<float>(), out.as<std::int32_t>()}, items,
                   nullptr);
    const std::vector<std::byte> content = out.content();
    std::vector<Record> records(items);
    std::memcpy(records.data(), content.data(), content.size());
    return records;
}

TEST_F(Labels, AreTheClassesOfTheHighestScores) {
    constexpr std::uint32_t inputs = 1000;
    for (const std::uint32_t items : {1U, 33U}) {
        for (const Precision precision : of_one_part) {
            const auto in = rounded(precision, random_values(std::size_t{items} * inputs, 1.0F, 1));
            const auto weights = random_values(std::size_t{5} * inputs, 1.0F, 2);
            const auto bias = random_values(5, 1.0F, 3);

            const std::vector<Record> got = labels(in, weights, bias, items, precision);

            for (std::size_t i = 0; i < items; ++i) {
                double scores[5];
                for (std::size_t c = 0; c < 5; ++c) {
                    scores[c] = static_cast<double>(bias[c]);
                    for (std::size_t k = 0; k < inputs; ++k) {
                        scores[c] +=
                            static_cast<double>(in[i * inputs + k]) * static_cast<double>(weights[c * inputs + k]);
                    }
                    EXPECT_NEAR(static_cast<double>(got[i].scores[c]), scores[c], 1e-3);
                }
                EXPECT_EQ(got[i].label, std::max_element(scores, scores + 5) - scores);
            }
        }
    }
}

TEST_F(Labels, AreTheSameBitsInAnyCompany) {
    constexpr std::uint32_t inputs = 1000;
    constexpr std::uint32_t items = 65;
    for (const Precision precision : of_one_part) {
        const auto in = random_values(std::size_t{items} * inputs, 1.0F, 1);
        const auto weights = random_values(std::size_t{5} * inputs, 1.0F, 2);
        const auto bias = random_values(5, 1.0F, 3);
        const std::vector<Record> all = labels(in, weights, bias, items, precision);

        for (std::size_t i = 0; i < items; ++i) {
            const auto item = std::span(in).subspan(i * inputs, inputs);
            const Record alone = labels(item, weights, bias, 1, precision)[0];
            EXPECT_EQ(std::memcmp(&alone, &all[i], sizeof alone), 0) << "item " << i;
        }
    }
}

TEST_F(Labels, GoToTheFirstOfEqualScoresAndNeverToALaterNan) {
    const std::vector<float> in(8, 0.0F);
    const std::vector<float> weights(5 * 8, 0.0F);

    EXPECT_EQ(labels(in, weights, std::vector<float>{1, 2, 2, 1, 2}, 1, Precision::fp32)[0].label, 1);
    EXPECT_EQ(labels(in, weights, std::vector<float>{1, NAN, 2, NAN, 1}, 1, Precision::fp32)[0].label, 2);
}

}  // namespace
}  // namespace sluice
