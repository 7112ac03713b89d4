#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/generator.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/gru_texts.hpp"
#include "tests/support/gru_reference.hpp"
#include "tests/support/host_precisions.hpp"

namespace sluice {
namespace {

using test::RandomGru;
using test::TextItem;
using test::TextWriter;
using test::WrittenText;

TextWriter writer_on(Device& device, const RandomGru& gru, const Sampling& sampling, std::uint32_t most_items,
                     Precision precision = Precision::fp32) {
    return {generator_kernels_of(DeviceKind::host, precision), gru, sampling, device, most_items};
}

/// A draw that comes closer to the next byte than sums err may give another text, and nothing else may.
TEST(GruGenerator, WritesWhatPlainLoopsWrite) {
    constexpr double too_close = 2e-5;
    HostDevice device;
    std::size_t compared = 0;
    std::size_t left_out = 0;
    for (const GruShape& shape : {GruShape{1, 1, 1}, GruShape{5, 3, 2}, GruShape{16, 32, 1}, GruShape{33, 31, 3},
                                  GruShape{7, 65, 4}, GruShape{530, 20, 2}}) {
        const RandomGru gru(shape, 1);
        for (const Sampling& sampling : {Sampling{.max_length = 10, .seed = 7}, Sampling{.max_length = 1},
                                         Sampling{.max_length = 6, .temperature = 0.7F, .top_k = 20, .seed = 1},
                                         Sampling{.max_length = 13, .temperature = 0}}) {
            const std::vector<TextItem> items = test::some_text_items(25, sampling.max_length);

            const std::vector<WrittenText> texts = writer_on(device, gru, sampling, 25).write(items);

            for (std::size_t i = 0; i < items.size(); ++i) {
                for (const test::ReferenceText& reference : {test::reference_text<double>(gru, sampling, items[i]),
                                                             test::reference_text<float>(gru, sampling, items[i])}) {
                    if (reference.margin < too_close) {
                        ++left_out;
                        continue;
                    }
                    ++compared;
                    ASSERT_EQ(texts[i].bytes, reference.bytes) << shape.hidden << " hidden, item " << i;
                    ASSERT_NEAR(texts[i].log_probability, reference.log_probability, 2e-4);
                }
            }
        }
    }
    EXPECT_GT(compared, 20 * left_out);
}

/// Its texts follow other scores than fp32's, of which their probabilities are.
TEST(GruGenerator, WritesInBf16WhatIsAboutAsLikelyInFp64) {
    HostDevice device;
    for (const Precision precision : test::host_precisions()) {
        const RandomGru gru({.embedding = 40, .hidden = 70, .layers = 2}, 1);
        const Sampling sampling{.max_length = 12, .seed = 7};
        std::vector<TextItem> items(100);
        for (std::size_t i = 0; i < items.size(); ++i) {
            items[i].number = i;
        }

        const std::vector<WrittenText> texts = writer_on(device, gru, sampling, 100, precision).write(items);

        double error = 0;
        double norm = 0;
        for (const WrittenText& text : texts) {
            if (text.bytes.size() < sampling.max_length) {  // it ended, as the reference's does
                const double right = test::reference_log_likelihood(gru.shape(), gru.weights(), text.bytes);
                error += std::pow(static_cast<double>(text.log_probability) - right, 2);
                norm += right * right;
            }
        }
        ASSERT_GT(norm, 0);
        EXPECT_LE(std::sqrt(error / norm), precision == Precision::fp32 ? 2e-5 : 3e-2) << name_of(precision);
    }
}

class GruNeighbours : public testing::TestWithParam<Precision> {};

TEST_P(GruNeighbours, DoNotChangeAText) {
    if (const std::vector<Precision> all = test::host_precisions(); std::ranges::find(all, GetParam()) == all.end()) {
        GTEST_SKIP() << "this CPU has no AMX";
    }
    HostDevice device;
    const RandomGru gru({.embedding = 9, .hidden = 21, .layers = 2}, 1);
    const Sampling sampling{.max_length = 10, .seed = 3};
    constexpr std::size_t count = 500;  // more than there are rows: some begin where others have ended
    const std::vector<TextItem> items = test::some_text_items(count, sampling.max_length);
    const std::vector<WrittenText> together = writer_on(device, gru, sampling, count, GetParam()).write(items);
    for (const std::uint32_t chunk : {1U, 7U, 191U, 193U}) {
        TextWriter writer = writer_on(device, gru, sampling, chunk, GetParam());
        std::vector<WrittenText> apart;
        for (std::size_t first = 0; first < count; first += chunk) {
            const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
            const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(first + chunk, count));
            const std::vector<WrittenText> some = writer.write({begin, end});
            apart.insert(apart.end(), some.begin(), some.end());
        }
        EXPECT_EQ(apart, together) << chunk;
    }

    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, std::mt19937(5));
    std::vector<TextItem> shuffled;
    for (const std::size_t i : order) {
        shuffled.push_back(items[i]);
    }
    const std::vector<WrittenText> elsewhere = writer_on(device, gru, sampling, count, GetParam()).write(shuffled);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(elsewhere[i], together[order[i]]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(InEachPrecision, GruNeighbours, testing::Values(Precision::fp32, Precision::bf16));

TEST(GruGenerator, EndsATextAtByteNothing) {
    HostDevice device;
    const RandomGru gru({.embedding = 9, .hidden = 20, .layers = 1}, 1);
    const Sampling sampling{.max_length = 10, .seed = 3};
    const std::vector<TextItem> items = test::some_text_items(300, sampling.max_length);

    TextWriter writer = writer_on(device, gru, sampling, 300);
    const std::vector<WrittenText> texts = writer.write(items);

    std::uint64_t ended = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(texts[i].bytes.find('\0'), std::string::npos);
        ended += test::reference_text<double>(gru, sampling, items[i]).ended ? 1 : 0;
        bytes += texts[i].bytes.size() - items[i].prefix.size();
    }
    EXPECT_GT(ended, 50U);
    EXPECT_LT(ended, 300U);
    EXPECT_EQ(writer.counts().texts, 300U);
    EXPECT_EQ(writer.counts().new_tokens, bytes);
    EXPECT_EQ(writer.counts().ended, ended);
}

/// Texts of one byte are the beginnings of those of two.
TEST(GruGenerator, SaysHowCloseTheClosestOfATextsDrawsCame) {
    HostDevice device;
    const RandomGru gru({.embedding = 9, .hidden = 20, .layers = 1}, 1);
    std::vector<TextItem> items(100);
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].number = i;
    }

    const std::vector<WrittenText> one = writer_on(device, gru, {.max_length = 1, .seed = 3}, 100).write(items);
    const std::vector<WrittenText> two = writer_on(device, gru, {.max_length = 2, .seed = 3}, 100).write(items);

    std::size_t closer = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        EXPECT_LE(two[i].doubt.distance, one[i].doubt.distance) << i;
        closer += two[i].doubt.distance < one[i].doubt.distance ? 1 : 0;
    }
    EXPECT_GT(closer, 10U);
    EXPECT_LT(closer, 90U);
}

TEST(GruGenerator, ComputesOnlyTheItemsThatCount) {
    HostDevice device;
    const RandomGru gru({.embedding = 4, .hidden = 8, .layers = 1}, 1);
    TextWriter writer = writer_on(device, gru, {.max_length = 4}, 3);
    const std::uint32_t active = 2;

    const std::vector<WrittenText> texts = writer.write(std::vector<TextItem>(3), &active, active);

    EXPECT_EQ(texts.size(), 2U);
    EXPECT_EQ(writer.counts().texts, 2U);
}

}  // namespace
}  // namespace sluice
