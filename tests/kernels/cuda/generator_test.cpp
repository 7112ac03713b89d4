#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/gru_texts.hpp"

namespace sluice {
namespace {

using test::RandomGru;
using test::TextItem;
using test::TextWriter;
using test::WrittenText;

/// A precision, and the instructions by which products in it are computed.
struct GeneratorKind {
    GeneratorKind(Precision of, MatrixInstructions by = MatrixInstructions::mma) : precision(of), instructions(by) {}

    Precision precision;
    MatrixInstructions instructions;
};

std::ostream& operator<<(std::ostream& out, const GeneratorKind& kind) {
    return out << name_of(kind.precision) << " by " << name_of(kind.instructions);
}

class GeneratorOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            for (const MatrixInstructions way : ways()) {
                devices_[way] = make_cuda_device(0, {.instructions = way});
            }
        }
    }

    [[nodiscard]] TextWriter writer(GeneratorKind kind, const RandomGru& gru, const Sampling& sampling,
                                    std::size_t most_items) const {
        return {generator_kernels_of(DeviceKind::cuda, kind.precision), gru, sampling, *devices_.at(kind.instructions),
                static_cast<std::uint32_t>(most_items)};
    }

    /// All that this GPU and build have.
    [[nodiscard]] std::vector<GeneratorKind> kinds() const {
        std::vector<GeneratorKind> all{Precision::fp32};
        for (const Precision precision : {Precision::tf32x3, Precision::tf32, Precision::fp16, Precision::bf16}) {
            for (const MatrixInstructions way : ways()) {
                all.emplace_back(precision, way);
            }
        }
        return all;
    }

    [[nodiscard]] Device& device() const { return *devices_.at(MatrixInstructions::mma); }

private:
    std::map<MatrixInstructions, std::unique_ptr<Device>> devices_;
};

std::vector<WrittenText> on_host(const RandomGru& gru, const Sampling& sampling, const std::vector<TextItem>& items) {
    HostDevice host;
    return TextWriter(generator_kernels_of(DeviceKind::host), gru, sampling, host,
                      static_cast<std::uint32_t>(items.size()))
        .write(items);
}

const std::array<Sampling, 4> samplings{{{.max_length = 10, .seed = 7},
                                         {.max_length = 1},
                                         {.max_length = 6, .temperature = 0.7F, .top_k = 20, .seed = 1},
                                         {.max_length = 13, .temperature = 0}}};

TEST_F(GeneratorOnGpu, WritesTheHostsBytesInFp32) {
    for (const GruShape& shape :
         {GruShape{1, 1, 1}, GruShape{5, 3, 2}, GruShape{16, 32, 1}, GruShape{33, 31, 3}, GruShape{7, 65, 4},
          GruShape{20, 530, 2}, GruShape{530, 513, 1}, GruShape{1600, 9, 1}}) {
        const RandomGru gru(shape, 11);
        for (const Sampling& sampling : samplings) {
            const std::vector<TextItem> items = test::some_text_items(300, sampling.max_length);

            const std::vector<WrittenText> expected = on_host(gru, sampling, items);
            for (const std::size_t most_items :
                 {std::size_t{300}, std::size_t{2000}}) {  // products of few rows, and many
                const std::vector<WrittenText> texts = writer(Precision::fp32, gru, sampling, most_items).write(items);

                ASSERT_EQ(texts, expected) << shape.hidden << " hidden, " << shape.layers << " layers, " << most_items;
            }
        }
    }
}

/// What rounding states and weights may do, and a few times as much to be sure.
struct Tolerance {
    double sum;              ///< Of probabilities: a draw that is closer to the next byte may give another text.
    double log_probability;  ///< Of a text.
};

Tolerance tolerance_of(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return {.sum = 4e-3, .log_probability = 0.2};
        case Precision::fp16:
        case Precision::tf32:
            return {.sum = 5e-4, .log_probability = 0.025};
        default:
            return {.sum = 2e-5, .log_probability = 2e-4};
    }
}

TEST_F(GeneratorOnGpu, WritesWhatPlainLoopsWriteInDouble) {
    for (const GeneratorKind kind : kinds()) {
        std::size_t compared = 0;
        std::size_t same = 0;
        for (const GruShape& shape : {GruShape{5, 3, 2}, GruShape{16, 64, 1}, GruShape{33, 31, 3}, GruShape{7, 130, 4},
                                      GruShape{40, 1024, 2}}) {
            const RandomGru gru(shape, 5);
            const std::size_t count = shape.hidden == 1024 ? 8 : 60;
            for (const Sampling& sampling : samplings) {
                const std::vector<TextItem> items = test::some_text_items(count, sampling.max_length);

                const std::vector<WrittenText> texts = writer(kind, gru, sampling, count).write(items);

                ASSERT_EQ(texts.size(), count);
                for (std::size_t i = 0; i < count; ++i) {
                    const test::ReferenceText reference = test::reference_text(gru, sampling, items[i]);
                    ++compared;
                    if (texts[i].bytes == reference.bytes) {
                        ++same;
                        if (sampling.top_k == 0 && reference.margin < 1) {
                            const TextDoubt doubt = texts[i].doubt;
                            EXPECT_NEAR(sampling.temperature == 0 ? doubt.gap : doubt.distance, reference.margin,
                                        sampling.temperature == 0 ? tolerance_of(kind.precision).log_probability
                                                                  : tolerance_of(kind.precision).sum)
                                << kind << ", " << shape.hidden << " hidden, item " << i;
                        }
                        EXPECT_NEAR(texts[i].log_probability, reference.log_probability,
                                    tolerance_of(kind.precision).log_probability)
                            << kind << ", " << shape.hidden << " hidden, item " << i;
                    } else if (sampling.top_k == 0) {  // which bytes count may hang on a hair that is no draw's
                        const Tolerance tolerance = tolerance_of(kind.precision);
                        EXPECT_LT(reference.margin,
                                  sampling.temperature == 0 ? tolerance.log_probability : tolerance.sum)
                            << kind << ", " << shape.hidden << " hidden, item " << i;
                    }
                }
            }
        }
        EXPECT_GT(same, compared * 8 / 10) << kind << ", of " << compared;
    }
}

/// Layer 0's table is in fp16 for some precisions.
TEST_F(GeneratorOnGpu, SaturatesGatesBeyondWhatHalvesHold) {
    constexpr std::uint32_t hidden = 70;
    RandomGru gru({.embedding = 9, .hidden = hidden, .layers = 2}, 3);
    for (const std::uint32_t gate : {0U, 1U, 2U}) {
        gru.set_input_bias(0, gate * hidden + gate, 1e6F);
        gru.set_input_bias(0, gate * hidden + 64 + gate, -3e5F);
    }
    const Sampling sampling{.max_length = 10, .seed = 3};
    const std::vector<TextItem> items = test::some_text_items(60, sampling.max_length);
    for (const GeneratorKind kind : kinds()) {
        const std::vector<WrittenText> texts = writer(kind, gru, sampling, items.size()).write(items);
        ASSERT_EQ(texts.size(), items.size());
        std::size_t same = 0;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const test::ReferenceText reference = test::reference_text(gru, sampling, items[i]);
            if (texts[i].bytes != reference.bytes) {
                EXPECT_LT(reference.margin, tolerance_of(kind.precision).sum) << kind << ", item " << i;
                continue;
            }
            ++same;
            EXPECT_NEAR(texts[i].log_probability, reference.log_probability,
                        tolerance_of(kind.precision).log_probability)
                << kind << ", item " << i;
        }
        EXPECT_GT(same, items.size() / 2) << kind;
    }
}

/// Chunks of several sizes take different tables of prefixes, fill tiles or not, and more than there are rows refill.
TEST_F(GeneratorOnGpu, GivesATextTheSameBitsWhateverItsNeighbours) {
    const RandomGru gru({.embedding = 9, .hidden = 70, .layers = 2}, 3);
    const Sampling sampling{.max_length = 10, .seed = 3};
    const std::vector<TextItem> items = test::some_text_items(40'009, sampling.max_length);
    for (const GeneratorKind kind : kinds()) {
        const std::vector<WrittenText> together = writer(kind, gru, sampling, items.size()).write(items);
        ASSERT_EQ(together.size(), items.size());
        for (const std::size_t chunk : {std::size_t{1}, std::size_t{127}, std::size_t{257}, std::size_t{5003}}) {
            TextWriter some = writer(kind, gru, sampling, chunk);
            const std::size_t chunks = std::min<std::size_t>(items.size() / chunk + 1, 20);
            for (std::size_t n = 0; n < chunks; ++n) {
                const std::size_t first = n * chunk;
                const std::size_t end = std::min(first + chunk, items.size());
                const std::vector<WrittenText> apart = some.write({items.begin() + static_cast<std::ptrdiff_t>(first),
                                                                   items.begin() + static_cast<std::ptrdiff_t>(end)});
                ASSERT_TRUE(
                    std::equal(apart.begin(), apart.end(), together.begin() + static_cast<std::ptrdiff_t>(first)))
                    << kind << ", chunks of " << chunk << " from " << first;
            }
        }
    }
}

TEST_F(GeneratorOnGpu, WritesNothingOneAndManyTexts) {
    const RandomGru gru({.embedding = 16, .hidden = 64, .layers = 2}, 29);
    const Sampling sampling{.max_length = 10, .seed = 1};
    for (const GeneratorKind kind : kinds()) {
        constexpr std::size_t most = 100'000;
        TextWriter some = writer(kind, gru, sampling, most);
        std::uint64_t written = 0;
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{10'007}, most}) {
            const std::vector<TextItem> items = test::some_text_items(count, sampling.max_length);

            const std::vector<WrittenText> texts = some.write(items);

            written += count;
            ASSERT_EQ(texts.size(), count);
            EXPECT_EQ(some.counts().texts, written) << kind;
            if (kind.precision == Precision::fp32) {
                EXPECT_EQ(texts, on_host(gru, sampling, items)) << count;
            }
        }
    }
}

TEST_F(GeneratorOnGpu, CountsAsTheHost) {
    const RandomGru gru({.embedding = 9, .hidden = 20, .layers = 1}, 8);
    const Sampling sampling{.max_length = 10, .seed = 3};
    const std::vector<TextItem> items = test::some_text_items(3000, sampling.max_length);
    HostDevice host_device;
    TextWriter host(generator_kernels_of(DeviceKind::host), gru, sampling, host_device, 3000);
    host.write(items);

    TextWriter on_gpu = writer(Precision::fp32, gru, sampling, 3000);
    on_gpu.write(items);

    EXPECT_EQ(on_gpu.counts().texts, 3000U);
    EXPECT_EQ(on_gpu.counts().new_tokens, host.counts().new_tokens);
    EXPECT_EQ(on_gpu.counts().ended, host.counts().ended);
    EXPECT_GT(on_gpu.counts().ended, 100U);
}

TEST_F(GeneratorOnGpu, ComputesOnlyTheItemsThatCount) {
    const RandomGru gru({.embedding = 4, .hidden = 8, .layers = 1}, 2);
    const Sampling sampling{.max_length = 4};
    const std::vector<TextItem> items = test::some_text_items(300, sampling.max_length);
    const Buffer active = device().allocate(MemorySpace::device, sizeof(std::uint32_t));
    constexpr std::array<std::uint32_t, 1> count{123};
    copy_now(active.bytes(), std::as_bytes(std::span(count)));
    const std::vector<WrittenText> all = on_host(gru, sampling, items);

    TextWriter some = writer(Precision::fp32, gru, sampling, 300);
    const std::vector<WrittenText> texts = some.write(items, active.as<std::uint32_t>().data(), count[0]);

    EXPECT_EQ(texts, std::vector<WrittenText>(all.begin(), all.begin() + count[0]));
    EXPECT_EQ(some.counts().texts, count[0]);
}

TEST_F(GeneratorOnGpu, TakesOneStepInEveryPrecision) {
    const RandomGru gru({.embedding = 6, .hidden = 66, .layers = 2}, 4);
    const Sampling sampling{.max_length = 2, .seed = 5};
    const std::vector<TextItem> items = test::some_text_items(20, sampling.max_length);
    for (const GeneratorKind kind : kinds()) {
        TextWriter some = writer(kind, gru, sampling, items.size());

        EXPECT_EQ(some.write(items).size(), items.size());

        EXPECT_EQ(some.counts().texts, items.size()) << kind;
    }
}

}  // namespace
}  // namespace sluice
