#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/device/host_device.hpp"
#include "kernels/generator.hpp"
#include "kernels/kernels.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/layer_runner.hpp"
#include "tests/support/gru_reference.hpp"

namespace sluice {
namespace {

/// Random weights of any sizes, none of them zero, and what a generator makes with them.
class Network {
public:
    explicit Network(const GruShape& shape) : shape_(shape) {
        const std::size_t gates = std::size_t{3} * shape.hidden;
        embedding_ = random_floats(std::size_t{gru_symbols} * shape.embedding, 1);
        linear_ = random_floats(std::size_t{gru_symbols} * shape.hidden, 2);
        linear_bias_ = random_floats(gru_symbols, 3);
        linear_bias_[0] = 4;  // texts end now and then
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
            const std::size_t inputs = layer == 0 ? shape.embedding : shape.hidden;
            for (const std::size_t size : {gates * inputs, gates * shape.hidden, gates, gates}) {
                tensors_.push_back(random_floats(size, 10 + static_cast<std::uint32_t>(tensors_.size())));
                for (float& weight : tensors_.back()) {
                    weight *= 2 / std::sqrt(static_cast<float>(inputs));
                }
            }
        }
    }

    [[nodiscard]] GruWeights weights() const {
        GruWeights weights{.embedding = embedding_, .linear = linear_, .linear_bias = linear_bias_};
        for (std::size_t i = 0; i < tensors_.size(); i += 4) {
            weights.layers.push_back({tensors_[i], tensors_[i + 1], tensors_[i + 2], tensors_[i + 3]});
        }
        return weights;
    }

    [[nodiscard]] const GruShape& shape() const { return shape_; }

private:
    GruShape shape_;
    std::vector<float> embedding_, linear_, linear_bias_;
    std::vector<std::vector<float>> tensors_;
};

struct Item {
    std::uint64_t number = 0;
    std::string prefix{};
    std::vector<float> draws{};

    friend bool operator==(const Item&, const Item&) = default;
};

struct Written {
    std::string bytes{};
    float log_probability = 0;

    friend bool operator==(const Written&, const Written&) = default;
};

class Writer {
public:
    Writer(const Network& network, const Sampling& sampling, std::uint32_t most_items,
           Precision precision = Precision::fp32)
        : sampling_(sampling), io_(generator_io(sampling.max_length)) {
        layer_ = generator_kernels_of(DeviceKind::host, precision)
                     .gru(network.shape(), network.weights(), sampling, packed_);
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 2);
        generator_ = layer_->make_generator(device_, most_items);
        stream_ = device_.make_stream({});
    }

    std::vector<Written> write(const std::vector<Item>& items) {
        std::vector<std::byte> in(items.size() * io_.input_bytes, std::byte{0xCC});
        std::vector<std::byte> out(items.size() * io_.output_bytes, std::byte{0xCC});
        for (std::size_t i = 0; i < items.size(); ++i) {
            std::byte* to = &in[i * io_.input_bytes];
            const TextStart start{.number = items[i].number,
                                  .prefix = static_cast<std::uint32_t>(items[i].prefix.size()),
                                  .has_draws = items[i].draws.empty() ? 0U : 1U};
            std::memcpy(to, &start, sizeof start);
            to += sizeof start;
            std::ranges::copy(std::as_bytes(std::span(items[i].draws)), to);
            std::ranges::copy(std::as_bytes(std::span(items[i].prefix)), to + sampling_.max_length * sizeof(float));
        }
        generator_->enqueue(*stream_, {.items = items.size()}, std::as_bytes(std::span(in)), std::span(out));
        stream_->record().wait();
        std::vector<Written> texts;
        for (std::size_t at = 0; at < out.size(); at += io_.output_bytes) {
            TextEnd end;
            std::memcpy(&end, &out[at], sizeof end);
            const auto* const bytes = reinterpret_cast<const char*>(&out[at + sizeof end]);
            texts.push_back({std::string(bytes, static_cast<std::size_t>(end.length)), end.log_probability});
            EXPECT_TRUE(std::all_of(bytes + end.length, bytes + io_.output_bytes - sizeof end,
                                    [](char byte) { return byte == 0; }));
        }
        return texts;
    }

    [[nodiscard]] TextCounts counts() const { return generator_->counts(); }

private:
    Sampling sampling_;
    IoShape io_;
    HostDevice device_;
    PackedWeights packed_;
    std::unique_ptr<GeneratorLayer> layer_;
    std::unique_ptr<Generator> generator_;
    std::unique_ptr<Stream> stream_;
};

/// Some with a prefix, up to the whole text, and some with draws of their own.
std::vector<Item> some_items(std::size_t count, std::uint32_t max_length) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < count; ++i) {
        Item item{.number = 1'000'000'000'000 + i * i};
        if (i % 3 == 1) {
            item.prefix = std::string("\x01zebra\xff\x80").substr(0, std::min<std::size_t>(i % 11, max_length));
        }
        if (i % 5 == 2) {
            item.draws = random_floats(max_length, static_cast<std::uint32_t>(i));
            for (float& draw : item.draws) {
                draw = std::abs(draw);
            }
        }
        items.push_back(std::move(item));
    }
    return items;
}

test::ReferenceText reference_of(const Network& network, const Sampling& sampling, const Item& item, bool in_double) {
    const auto uniform = [&](std::uint32_t i) {
        return item.draws.empty()
                   ? uniform_below_one(random_words(sampling.seed, {.item = item.number, .number = i}).words[0])
                   : item.draws[i];
    };
    const auto write = in_double ? &test::write_reference<double> : &test::write_reference<float>;
    return write(network.shape(), network.weights(), sampling, item.prefix, uniform);
}

/// A draw that comes closer to the next byte than sums err may give another text, and nothing else may.
TEST(GruGenerator, WritesWhatPlainLoopsWrite) {
    constexpr double too_close = 2e-5;
    std::size_t compared = 0;
    std::size_t left_out = 0;
    for (const GruShape& shape : {GruShape{1, 1, 1}, GruShape{5, 3, 2}, GruShape{16, 32, 1}, GruShape{33, 31, 3},
                                  GruShape{7, 65, 4}, GruShape{530, 20, 2}}) {
        const Network network(shape);
        for (const Sampling& sampling : {Sampling{.max_length = 10, .seed = 7}, Sampling{.max_length = 1},
                                         Sampling{.max_length = 6, .temperature = 0.7F, .top_k = 20, .seed = 1},
                                         Sampling{.max_length = 13, .temperature = 0}}) {
            const std::vector<Item> items = some_items(25, sampling.max_length);

            const std::vector<Written> texts = Writer(network, sampling, 25).write(items);

            for (std::size_t i = 0; i < items.size(); ++i) {
                for (const bool in_double : {true, false}) {
                    const test::ReferenceText reference = reference_of(network, sampling, items[i], in_double);
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
    for (const Precision precision : test::host_precisions()) {
        const Network network({.embedding = 40, .hidden = 70, .layers = 2});
        const Sampling sampling{.max_length = 12, .seed = 7};
        std::vector<Item> items(100);
        for (std::size_t i = 0; i < items.size(); ++i) {
            items[i].number = i;
        }

        const std::vector<Written> texts = Writer(network, sampling, 100, precision).write(items);

        double error = 0;
        double norm = 0;
        for (const Written& text : texts) {
            if (text.bytes.size() < sampling.max_length) {  // it ended, as the reference's does
                const double right = test::reference_log_likelihood(network.shape(), network.weights(), text.bytes);
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
    const Network network({.embedding = 9, .hidden = 21, .layers = 2});
    const Sampling sampling{.max_length = 10, .seed = 3};
    constexpr std::size_t count = 500;  // more than there are rows: some begin where others have ended
    const std::vector<Item> items = some_items(count, sampling.max_length);
    const std::vector<Written> together = Writer(network, sampling, count, GetParam()).write(items);
    for (const std::uint32_t chunk : {1U, 7U, 191U, 193U}) {
        Writer writer(network, sampling, chunk, GetParam());
        std::vector<Written> apart;
        for (std::size_t first = 0; first < count; first += chunk) {
            const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
            const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(first + chunk, count));
            const std::vector<Written> some = writer.write({begin, end});
            apart.insert(apart.end(), some.begin(), some.end());
        }
        EXPECT_EQ(apart, together) << chunk;
    }

    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, std::mt19937(5));
    std::vector<Item> shuffled;
    for (const std::size_t i : order) {
        shuffled.push_back(items[i]);
    }
    const std::vector<Written> elsewhere = Writer(network, sampling, count, GetParam()).write(shuffled);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(elsewhere[i], together[order[i]]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(InEachPrecision, GruNeighbours, testing::Values(Precision::fp32, Precision::bf16));

TEST(GruGenerator, EndsATextAtByteNothing) {
    const Network network({.embedding = 9, .hidden = 20, .layers = 1});
    const Sampling sampling{.max_length = 10, .seed = 3};
    const std::vector<Item> items = some_items(300, sampling.max_length);

    Writer writer(network, sampling, 300);
    const std::vector<Written> texts = writer.write(items);

    std::uint64_t ended = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(texts[i].bytes.find('\0'), std::string::npos);
        ended += reference_of(network, sampling, items[i], true).ended ? 1 : 0;
        bytes += texts[i].bytes.size() - items[i].prefix.size();
    }
    EXPECT_GT(ended, 50U);
    EXPECT_LT(ended, 300U);
    EXPECT_EQ(writer.counts().texts, 300U);
    EXPECT_EQ(writer.counts().new_tokens, bytes);
    EXPECT_EQ(writer.counts().ended, ended);
}

TEST(GruGenerator, ComputesOnlyTheItemsThatCount) {
    const Network network({.embedding = 4, .hidden = 8, .layers = 1});
    const Sampling sampling{.max_length = 4};
    PackedWeights packed;
    const auto layer = generator_kernels_of(DeviceKind::host).gru(network.shape(), network.weights(), sampling, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 1);
    HostDevice device;
    const auto generator = layer->make_generator(device, 3);
    const auto stream = device.make_stream({});
    const IoShape io = generator_io(sampling.max_length);
    std::vector<std::byte> in(3 * io.input_bytes);
    std::vector<std::byte> out(3 * io.output_bytes, std::byte{0xCC});
    const std::uint32_t active = 2;

    generator->enqueue(*stream, {.items = 3, .active = &active}, std::as_bytes(std::span(in)), std::span(out));
    stream->record().wait();

    EXPECT_EQ(generator->counts().texts, 2U);
    EXPECT_TRUE(std::all_of(out.end() - io.output_bytes, out.end(), [](std::byte b) { return b == std::byte{0xCC}; }));
}

}  // namespace
}  // namespace sluice
