#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/weights/packed_weights.hpp"
#include "kernels/generator.hpp"
#include "kernels/philox.hpp"
#include "tests/support/gru_reference.hpp"

namespace sluice::test {

/// Random weights of any sizes, none of them zero; texts end now and then.
class RandomGru {
public:
    RandomGru(const GruShape& shape, std::uint32_t seed) : shape_(shape), engine_(seed) {
        const std::size_t gates = std::size_t{3} * shape.hidden;
        embedding_ = draw(std::size_t{gru_symbols} * shape.embedding, 1);
        linear_ = draw(std::size_t{gru_symbols} * shape.hidden, 4 / std::sqrt(static_cast<float>(shape.hidden)));
        linear_bias_ = draw(gru_symbols, 1);
        linear_bias_[0] = 3;
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
            const std::size_t inputs = layer == 0 ? shape.embedding : shape.hidden;
            tensors_.push_back(draw(gates * inputs, 2 / std::sqrt(static_cast<float>(inputs))));
            tensors_.push_back(draw(gates * shape.hidden, 2 / std::sqrt(static_cast<float>(shape.hidden))));
            tensors_.push_back(draw(gates, 0.5F));
            tensors_.push_back(draw(gates, 0.5F));
        }
    }

    [[nodiscard]] const GruShape& shape() const { return shape_; }
    [[nodiscard]] GruWeights weights() const {
        GruWeights weights{.embedding = embedding_, .linear = linear_, .linear_bias = linear_bias_};
        for (std::size_t i = 0; i < tensors_.size(); i += 4) {
            weights.layers.push_back({tensors_[i], tensors_[i + 1], tensors_[i + 2], tensors_[i + 3]});
        }
        return weights;
    }

    void set_input_bias(std::size_t layer, std::size_t gate_unit, float value) {
        tensors_[4 * layer + 2][gate_unit] = value;
    }

private:
    std::vector<float> draw(std::size_t count, float size) {
        std::uniform_real_distribution<float> uniform(-size, size);
        std::vector<float> values(count);
        std::ranges::generate(values, [&] { return uniform(engine_); });
        return values;
    }

    GruShape shape_;
    std::mt19937 engine_;
    std::vector<float> embedding_, linear_, linear_bias_;
    std::vector<std::vector<float>> tensors_;
};

struct TextItem {
    std::uint64_t number = 0;
    std::string prefix{};
    std::vector<float> draws{};
};

struct WrittenText {
    std::string bytes{};
    float log_probability = 0;
    TextDoubt doubt{};

    friend bool operator==(const WrittenText&, const WrittenText&) = default;
};

/// Some with a prefix, up to the whole text, some with draws of their own, and some with both.
inline std::vector<TextItem> some_text_items(std::size_t count, std::uint32_t max_length) {
    std::mt19937 engine(static_cast<std::uint32_t>(count));
    std::uniform_real_distribution<float> uniform(0, 1);
    std::vector<TextItem> items(count);
    for (std::size_t i = 0; i < count; ++i) {
        items[i].number = 1'000'000'000'000 + i * i;
        if (i % 3 == 1) {
            items[i].prefix = std::string("\x01zebra\xff\x80wolf").substr(0, std::min<std::size_t>(i % 13, max_length));
        }
        if (i % 5 == 2) {
            items[i].draws.resize(max_length);
            std::ranges::generate(items[i].draws, [&] { return uniform(engine); });
            items[i].draws[i % max_length] = i % 2 == 0 ? 0.0F : 1.0F;
        }
    }
    return items;
}

/// As plain loops in `Real` write it.
template <class Real = double>
ReferenceText reference_text(const RandomGru& gru, const Sampling& sampling, const TextItem& item) {
    const auto uniform = [&](std::uint32_t i) {
        return item.draws.empty()
                   ? uniform_below_one(random_words(sampling.seed, {.item = item.number, .number = i}).words[0])
                   : item.draws[i];
    };
    return write_reference<Real>(gru.shape(), gru.weights(), sampling, item.prefix, uniform);
}

/// The items as a generator takes them; what no item has is 0xcc.
inline std::vector<std::byte> encoded(const std::vector<TextItem>& items, std::uint32_t max_length) {
    const std::size_t bytes = generator_io(max_length).input_bytes;
    std::vector<std::byte> in(items.size() * bytes, std::byte{0xCC});
    for (std::size_t i = 0; i < items.size(); ++i) {
        std::byte* to = &in[i * bytes];
        const TextStart start{.number = items[i].number,
                              .prefix = static_cast<std::uint32_t>(items[i].prefix.size()),
                              .has_draws = items[i].draws.empty() ? 0U : 1U};
        std::memcpy(to, &start, sizeof start);
        to += sizeof start;
        std::ranges::copy(std::as_bytes(std::span(items[i].draws)), to);
        std::ranges::copy(std::as_bytes(std::span(items[i].prefix)), to + max_length * sizeof(float));
    }
    return in;
}

/// Texts of results; what follows a text is zero, or the test fails.
inline std::vector<WrittenText> decoded(std::span<const std::byte> out, std::uint32_t max_length) {
    const std::size_t bytes = generator_io(max_length).output_bytes;
    std::vector<WrittenText> texts;
    for (std::size_t at = 0; at < out.size(); at += bytes) {
        TextEnd end;
        std::memcpy(&end, &out[at], sizeof end);
        if (end.length < 0 || static_cast<std::uint32_t>(end.length) > max_length) {
            ADD_FAILURE() << "result " << at / bytes << " has length " << end.length;
            return texts;
        }
        const auto* const text = reinterpret_cast<const char*>(&out[at + sizeof end]);
        texts.push_back(
            {.bytes = std::string(text, static_cast<std::size_t>(end.length)), .log_probability = end.log_probability});
        EXPECT_TRUE(std::all_of(text + end.length, text + bytes - sizeof end, [](char byte) { return byte == 0; }));
    }
    return texts;
}

/// A generator on a device of any kind, with a stream and device memory of its own.
class TextWriter {
public:
    TextWriter(const GeneratorKernels& kernels, const RandomGru& gru, const Sampling& sampling, Device& device,
               std::uint32_t most_items)
        : sampling_(sampling), io_(generator_io(sampling.max_length)), device_(device) {
        layer_ = kernels.gru(gru.shape(), gru.weights(), sampling, packed_);
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 2);
        generator_ = layer_->make_generator(device, most_items);
        stream_ = device.make_stream({});
    }

    std::vector<WrittenText> write(const std::vector<TextItem>& items) { return write(items, nullptr, items.size()); }

    /// Of `items` those before *active only: device memory, `count` of them.
    std::vector<WrittenText> write(const std::vector<TextItem>& items, const std::uint32_t* active, std::size_t count) {
        const std::vector<std::byte> in = encoded(items, sampling_.max_length);
        std::vector<std::byte> out(items.size() * io_.output_bytes, std::byte{0xCC});
        const Buffer device_in = device_.allocate(MemorySpace::device, std::max<std::size_t>(in.size(), 1));
        const Buffer device_out = device_.allocate(MemorySpace::device, std::max<std::size_t>(out.size(), 1));
        std::vector<TextDoubt> doubts(items.size());
        const Buffer device_doubts =
            device_.allocate(MemorySpace::device, std::max<std::size_t>(items.size(), 1) * sizeof(TextDoubt));
        stream_->copy(device_in.bytes().first(in.size()), in);
        stream_->copy(device_out.bytes().first(out.size()), out);
        const std::span<const std::byte> from = device_in.bytes().first(in.size());
        const std::array<std::span<std::byte>, 2> to{device_out.bytes().first(out.size()),
                                                     device_doubts.bytes().first(items.size() * sizeof(TextDoubt))};
        generator_->enqueue(*stream_, {.items = items.size(), .active = active}, Inputs(&from, 1), to);
        stream_->copy(out, to[0]);
        stream_->copy(std::as_writable_bytes(std::span(doubts)), to[1]);
        stream_->record().wait();
        const std::size_t written = count * io_.output_bytes;
        EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(written), out.end(),
                                [](std::byte byte) { return byte == std::byte{0xCC}; }));
        std::vector<WrittenText> texts = decoded(std::span(out).first(written), sampling_.max_length);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            texts[i].doubt = doubts[i];
        }
        return texts;
    }

    [[nodiscard]] TextCounts counts() const { return generator_->counts(); }

private:
    Sampling sampling_;
    IoShape io_;
    Device& device_;
    PackedWeights packed_;
    std::unique_ptr<GeneratorLayer> layer_;
    std::unique_ptr<Generator> generator_;
    std::unique_ptr<Stream> stream_;
};

}  // namespace sluice::test
