#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/device.hpp"
#include "core/trace/activities.hpp"
#include "kernels/decoder.hpp"
#include "tests/support/decoder_reference.hpp"

/// Prompts, and what a backend's decoder makes of them.
namespace sluice::test {

using Tokens = std::vector<std::uint32_t>;

struct Continued {
    Tokens tokens{};
    std::vector<float> log_probabilities{};
    ContinuationStart start{};
    bool has_zeros_after_it = true;  ///< Up to max_new tokens.

    bool operator==(const Continued& other) const {
        return tokens == other.tokens && log_probabilities == other.log_probabilities &&
               start.prompt == other.start.prompt && start.has_end == other.start.has_end &&
               start.nonfinite == other.start.nonfinite;
    }
};

/// A decoder for chunks of up to `most_items`.
class Continuer {
public:
    /// The device outlives it. `more_bytes`: of its memory, beyond the least that the decoder takes.
    Continuer(const DecoderKernels& kernels, Device& device, const RandomDecoder& model, const TokenSampling& sampling,
              std::uint32_t most_items, std::uint64_t more_bytes = UINT64_MAX / 2)
        : sampling_(sampling), io_(decoder_io(sampling)), most_items_(most_items), device_(device) {
        layer_ = kernels.decoder(model.shape(), model.weights(), sampling, packed_);
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 2);
        decoder_ = layer_->make_decoder(device, most_items, layer_->least_bytes(most_items) + more_bytes);
        stream_ = device.make_stream({.activity = &activity_});
    }

    /// Item i has number first + i.
    std::vector<Continued> operator()(const std::vector<Tokens>& prompts, std::uint64_t first = 0) {
        std::vector<Continued> all;
        for (std::size_t begin = 0; begin < prompts.size(); begin += most_items_) {
            const std::size_t count = std::min<std::size_t>(most_items_, prompts.size() - begin);
            std::vector<std::byte> in(count * io_.input_bytes);
            std::vector<std::byte> out(count * io_.output_bytes, std::byte{0xEE});
            for (std::size_t i = 0; i < count; ++i) {
                const Tokens& prompt = prompts[begin + i];
                const PromptStart start{.number = first + begin + i,
                                        .tokens = static_cast<std::uint32_t>(prompt.size())};
                std::memcpy(&in[i * io_.input_bytes], &start, sizeof start);
                std::memcpy(&in[i * io_.input_bytes + sizeof start], prompt.data(),
                            prompt.size() * sizeof(std::uint32_t));
            }
            run(count, in, out);
            for (std::size_t i = 0; i < count; ++i) {
                all.push_back(read(&out[i * io_.output_bytes]));
            }
        }
        return all;
    }

    [[nodiscard]] TextCounts counts() const { return decoder_->counts(); }

    /// How often its stream has got on; 0 if the device cannot tell.
    [[nodiscard]] std::uint64_t moves() const { return activity_.state().moves; }

private:
    void run(std::size_t items, const std::vector<std::byte>& in, std::vector<std::byte>& out) {
        const Buffer from = device_.allocate(MemorySpace::device, in.size());
        const Buffer to = device_.allocate(MemorySpace::device, out.size());
        stream_->copy(from.bytes(), in);
        stream_->copy(to.bytes(), out);
        decoder_->enqueue(*stream_, {.items = items}, from.bytes(), to.bytes());
        stream_->copy(out, to.bytes());
        stream_->record().wait();
    }

    [[nodiscard]] Continued read(const std::byte* result) const {
        Continued continued;
        std::memcpy(&continued.start, result, sizeof continued.start);
        continued.tokens.resize(continued.start.tokens);
        const std::byte* const tokens = result + sizeof continued.start;
        std::copy_n(tokens, continued.tokens.size() * sizeof(std::uint32_t),
                    std::as_writable_bytes(std::span(continued.tokens)).begin());
        for (std::uint32_t i = continued.start.tokens; i < sampling_.max_new; ++i) {
            std::uint32_t token = 0;
            std::memcpy(&token, tokens + i * sizeof token, sizeof token);
            continued.has_zeros_after_it &= token == 0;
        }
        if (sampling_.log_probabilities) {
            continued.log_probabilities.resize(continued.start.tokens);
            std::copy_n(tokens + sampling_.max_new * sizeof(std::uint32_t), continued.tokens.size() * sizeof(float),
                        std::as_writable_bytes(std::span(continued.log_probabilities)).begin());
        }
        return continued;
    }

    TokenSampling sampling_;
    IoShape io_;
    std::uint32_t most_items_;
    Device& device_;
    PackedWeights packed_;
    std::unique_ptr<DecoderLayer> layer_;
    std::unique_ptr<Decoder> decoder_;
    Activity activity_{};
    std::unique_ptr<Stream> stream_;
};

inline DecoderShape with_prefix(const DecoderShape& sizes) {
    DecoderShape shape = sizes;
    shape.mask = AttentionMask::prefix;
    return shape;
}

/// Like Llama: RMS normalisation, gates, rotary positions, grouped heads, no biases, a head of
/// its own.
inline DecoderShape like_llama(const DecoderShape& sizes, std::uint32_t key_heads) {
    DecoderShape shape = sizes;
    shape.key_heads = key_heads;
    shape.normalisation = DecoderNormalisation::rms;
    shape.activation = DecoderActivation::silu;
    shape.gated = true;
    shape.rotary = RotaryPositions{};
    return shape;
}
inline constexpr DecoderParts parts_of_llama{.biases = false, .own_head = true, .order = MatrixOrder::by_outputs};

inline std::vector<Tokens> random_prompts(std::size_t count, std::uint32_t longest, std::uint32_t vocabulary,
                                          std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<Tokens> prompts(count);
    for (Tokens& prompt : prompts) {
        prompt.resize(1 + engine() % longest);
        std::ranges::generate(prompt, [&] { return static_cast<std::uint32_t>(engine() % vocabulary); });
    }
    return prompts;
}

/// Three instructions, the second of which begins as the first, and none at all; a fifth of the prompts are cut at any
/// place, and some are the same.
inline std::vector<Tokens> prompts_with_instructions(std::size_t count, std::uint32_t longest,
                                                     std::uint32_t vocabulary) {
    std::mt19937 engine(17);
    const auto random = [&](std::size_t tokens) {
        Tokens all(tokens);
        std::ranges::generate(all, [&] { return static_cast<std::uint32_t>(engine() % vocabulary); });
        return all;
    };
    std::vector<Tokens> instructions{random(longest / 2), random(longest * 3 / 4), random(longest * 2 / 3), {}};
    std::copy_n(instructions[0].begin(), longest / 3, instructions[1].begin());
    std::vector<Tokens> prompts;
    for (std::size_t i = 0; i < count; ++i) {
        Tokens prompt = instructions[engine() % instructions.size()];
        const Tokens rest = random(1 + engine() % (longest - prompt.size()));
        prompt.insert(prompt.end(), rest.begin(), rest.end());
        if (engine() % 5 == 0) {
            prompt.resize(1 + engine() % prompt.size());
        }
        prompts.push_back(i % 10 == 9 ? prompts[i / 2] : prompt);
    }
    return prompts;
}

}  // namespace sluice::test
