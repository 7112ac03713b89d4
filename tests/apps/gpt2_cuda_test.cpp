#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "apps/gpt2/gpt2_model.hpp"
#include "core/event.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/decoder_texts.hpp"

namespace sluice {
namespace {

using gpt2::LoadedCertifiedGpt2;
using test::RandomDecoder;
using test::Tokens;

constexpr DecoderShape certified_shape{
    .vocabulary = 700, .positions = 40, .width = 128, .layers = 3, .heads = 2, .inner = 264};

/// Some tokens score so nearly as the one before them that fp16 takes one for the other.
class CloseDecoder {
public:
    explicit CloseDecoder(std::uint32_t seed, const DecoderShape& shape = certified_shape,
                          const test::DecoderParts& parts = {})
        : model_(shape, seed, parts) {
        tokens_ = model_.weights().tokens.floats();
        for (std::size_t token = 0; token + 1 < certified_shape.vocabulary; token += 16) {
            for (std::size_t i = 0; i < certified_shape.width; ++i) {
                const float moved = 1 + 2e-3F * static_cast<float>((token / 16 + i) % 7) - 6e-3F;
                tokens_[(token + 1) * certified_shape.width + i] = tokens_[token * certified_shape.width + i] * moved;
            }
        }
    }

    [[nodiscard]] const DecoderShape& shape() const { return model_.shape(); }
    [[nodiscard]] DecoderWeights weights() const {
        DecoderWeights weights = model_.weights();
        weights.tokens = tokens_;
        return weights;
    }

private:
    RandomDecoder model_;
    std::vector<float> tokens_;
};

class CertifiedContinuations : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped() && gpu().instructions() != MatrixInstructions::wgmma) {
            GTEST_SKIP() << "a GPU or a build without wgmma";
        }
        if (!IsSkipped()) {
            device_ = make_cuda_device(0);
            stream_ = device_->make_stream({});
        }
    }

    void load(const TokenSampling& sampling) { load(sampling, gpt2_); }
    void load(const TokenSampling& sampling, const CloseDecoder& model) {
        sampling_ = sampling;
        certified_ = std::make_unique<LoadedCertifiedGpt2>(model.shape(), model.weights(), sampling, DeviceKind::cuda);
        certified_->weights()->pack(NodeMemory::of_process(certified_->weights()->bytes()), {}, 2);
        packed_ = std::make_unique<PackedWeights>();
        fp32_ = decoder_kernels_of(DeviceKind::cuda, Precision::fp32)
                    .decoder(model.shape(), model.weights(), sampling, *packed_);
        packed_->pack(NodeMemory::of_process(packed_->bytes()), {}, 2);
    }

    [[nodiscard]] std::vector<std::byte> items(std::size_t count) const {
        const std::size_t bytes = decoder_io(sampling_).input_bytes;
        const std::vector<Tokens> prompts =
            test::random_prompts(count, sampling_.max_prompt, certified_shape.vocabulary, 5);
        std::vector<std::byte> items(count * bytes);
        for (std::size_t i = 0; i < count; ++i) {
            const PromptStart start{
                .number = i, .tokens = static_cast<std::uint32_t>(prompts[i].size()), .is_cut = i % 5 == 0 ? 1U : 0U};
            std::memcpy(&items[i * bytes], &start, sizeof start);
            std::memcpy(&items[i * bytes + sizeof start], prompts[i].data(), prompts[i].size() * sizeof(std::uint32_t));
        }
        return items;
    }

    /// As the job's driver does it: calibrates on the first items, then computes all, `chunk` at a time.
    [[nodiscard]] std::vector<std::byte> certify(const std::vector<std::byte>& items, std::size_t chunk,
                                                 std::uint64_t more_bytes = std::uint64_t{4} << 30U) {
        const auto most = static_cast<std::uint32_t>(chunk);
        const std::size_t bytes = decoder_io(sampling_).input_bytes;
        model_on_device_ = certified_->make_model(
            *device_, {.most_items = most, .device_bytes = certified_->least_room(most) + more_bytes});
        const std::size_t sample = std::min<std::size_t>(items.size(), certified_->sample_items() * bytes);
        model_on_device_->calibrate(*stream_, std::span(items).first(sample));
        return in_chunks(items, chunk, [&](std::size_t count, std::span<const std::byte> in, std::span<std::byte> out) {
            model_on_device_->forward(*stream_, count, in, out);
        });
    }

    [[nodiscard]] std::vector<std::byte> continue_in_fp32(const std::vector<std::byte>& items) {
        const std::size_t count = items.size() / decoder_io(sampling_).input_bytes;
        const auto most = static_cast<std::uint32_t>(count);
        const auto decoder = fp32_->make_decoder(*device_, most, fp32_->least_bytes(most) + (std::uint64_t{4} << 30U));
        std::vector<std::byte> results =
            in_chunks(items, count, [&](std::size_t active, std::span<const std::byte> in, std::span<std::byte> out) {
                decoder->enqueue(*stream_, {.items = active}, in, out);
            });
        fp32_counts_ = decoder->counts();
        return results;
    }

    /// Everything but log-probabilities.
    [[nodiscard]] std::size_t different_texts(const std::vector<std::byte>& a, const std::vector<std::byte>& b) const {
        const std::size_t bytes = decoder_io(sampling_).output_bytes;
        const std::size_t compared = sizeof(ContinuationStart) + sampling_.max_new * sizeof(std::uint32_t);
        std::size_t different = a.size() == b.size() ? 0 : 1;
        for (std::size_t at = 0; at < std::min(a.size(), b.size()); at += bytes) {
            different += std::memcmp(&a[at], &b[at], compared) == 0 ? 0 : 1;
        }
        return different;
    }

    [[nodiscard]] const Model& model() const { return *model_on_device_; }
    [[nodiscard]] const TextCounts& fp32_counts() const { return fp32_counts_; }

private:
    /// In buffers that hold NaN before.
    template <class Forward>
    std::vector<std::byte> in_chunks(const std::vector<std::byte>& items, std::size_t chunk, const Forward& forward) {
        const IoShape io = decoder_io(sampling_);
        std::vector<std::byte> all;
        for (std::size_t first = 0; first < items.size(); first += chunk * io.input_bytes) {
            const std::size_t bytes = std::min(chunk * io.input_bytes, items.size() - first);
            const std::size_t count = bytes / io.input_bytes;
            const DeviceMemory in(std::span<const std::byte>(items).subspan(first, bytes));
            const DeviceMemory out(count * io.output_bytes);
            forward(count, {in.as<const std::byte>(), bytes}, {out.as<std::byte>(), count * io.output_bytes});
            stream_->record().wait();
            const std::vector<std::byte> results = out.content();
            all.insert(all.end(), results.begin(), results.end());
        }
        return all;
    }

    CloseDecoder gpt2_{29};
    std::unique_ptr<Device> device_;
    std::unique_ptr<Stream> stream_;
    TokenSampling sampling_;
    std::unique_ptr<LoadedCertifiedGpt2> certified_;
    std::unique_ptr<PackedWeights> packed_;
    std::unique_ptr<DecoderLayer> fp32_;
    std::unique_ptr<Model> model_on_device_;
    TextCounts fp32_counts_{};
};

TEST_F(CertifiedContinuations, AreThoseOfFp32) {
    constexpr std::size_t count = 20'000;
    const TokenSampling rules[] = {
        {.temperature = 0, .end = 3},  // by the largest of each tile
        {.repetition_penalty = 1.3F, .temperature = 0, .log_probabilities = true},
        {.seed = 3},
        {.temperature = 0.8F, .top_k = 12, .seed = 9},
        {.temperature = 0.9F, .top_p = 0.8F, .seed = 7},
        {.repetition_penalty = 1.2F, .temperature = 0.9F, .top_k = 30, .top_p = 0.9F, .end = 3, .seed = 5},
    };
    for (TokenSampling sampling : rules) {
        SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", penalty "
                                        << sampling.repetition_penalty << ", top_k " << sampling.top_k << ", top_p "
                                        << sampling.top_p);
        sampling.max_prompt = 12;
        sampling.max_new = 6;
        load(sampling);
        const std::vector<std::byte> prompts = items(count);

        const std::vector<std::byte> certified = certify(prompts, 7000);

        EXPECT_EQ(different_texts(certified, continue_in_fp32(prompts)), 0U);
        const Certification done = model().certification().value_or(Certification());
        EXPECT_GT(done.recomputed, 0U);
        EXPECT_LT(done.recomputed, count);
        EXPECT_LT(done.recomputed_twice, done.recomputed);
        const std::vector<ModelCount> counts = model().counts();
        EXPECT_EQ(counts.at(0).value, count);
        EXPECT_EQ(counts.at(1).value, fp32_counts().prompt_tokens);
        EXPECT_EQ(counts.at(2).value, fp32_counts().new_tokens);
        EXPECT_EQ(counts.at(3).value, fp32_counts().ended);
        EXPECT_EQ(counts.at(4).value, fp32_counts().cut);
    }
}

TEST_F(CertifiedContinuations, OfALlamaAreThoseOfFp32) {
    constexpr std::size_t count = 5'000;
    const CloseDecoder llama(
        31,
        test::like_llama({.vocabulary = 700, .positions = 40, .width = 128, .layers = 3, .heads = 4, .inner = 264}, 2),
        {.biases = false, .order = MatrixOrder::by_outputs});
    for (const float temperature : {0.0F, 0.9F}) {
        load({.max_prompt = 12, .max_new = 6, .temperature = temperature, .seed = 3}, llama);
        const std::vector<std::byte> prompts = items(count);

        const std::vector<std::byte> certified = certify(prompts, 2'000);

        EXPECT_EQ(different_texts(certified, continue_in_fp32(prompts)), 0U) << temperature;
        EXPECT_LT(model().certification().value_or(Certification()).recomputed, count) << temperature;
    }
}

/// With the least memory texts wait for each other in each of the decoders.
TEST_F(CertifiedContinuations, HaveTheSameBitsInAllChunksAndAllMemory) {
    load({.max_prompt = 12, .max_new = 6, .temperature = 0, .log_probabilities = true});
    const std::vector<std::byte> prompts = items(6'011);
    const std::vector<std::byte> together = certify(prompts, 6'011);
    EXPECT_EQ(certify(prompts, 4'999), together);
    EXPECT_EQ(certify(prompts, 301), together);
    EXPECT_EQ(certify(prompts, 2'000, 0), together);
}

TEST(CertifiedGpt2, TakesRoomForAllDecoders) {
    constexpr std::uint32_t items = 10'000;
    constexpr std::uint64_t a_little = std::uint64_t{16} << 20U;  // certifiers and the sample, of 100 bytes an item
    const CloseDecoder model(2);
    for (const bool is_greedy : {false, true}) {
        const TokenSampling sampling{.max_prompt = 12, .max_new = 6, .temperature = is_greedy ? 0.0F : 1.0F};
        std::uint64_t decoders = 0;
        for (const auto& [precision, most] :
             {std::pair{Precision::fp16, items}, std::pair{Precision::fp16x2, is_greedy ? items : 0},
              std::pair{Precision::tf32x3, 4096U}, std::pair{Precision::fp32, 512U}}) {
            PackedWeights packed;
            const auto layer = decoder_kernels_of(DeviceKind::cuda, precision)
                                   .decoder(certified_shape, model.weights(), sampling, packed);
            decoders += most == 0 ? 0 : layer->least_bytes(most);
        }

        const std::uint64_t room =
            LoadedCertifiedGpt2(certified_shape, model.weights(), sampling, DeviceKind::cuda).least_room(items);

        EXPECT_GT(room, decoders);
        EXPECT_LT(room, decoders + a_little);
    }
}

}  // namespace
}  // namespace sluice
