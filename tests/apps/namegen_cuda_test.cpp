#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "apps/namegen/namegen_model.hpp"
#include "core/device/model_runner.hpp"
#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/gru_texts.hpp"

namespace sluice::namegen {
namespace {

using test::TextItem;
using test::WrittenText;

class CertifiedNames : public OnGpu {
protected:
    /// From now on, by these instructions.
    void compute_by(MatrixInstructions instructions) {
        model_.reset();
        device_ = make_cuda_device(0, {.instructions = instructions});
    }

    /// As the job's driver does it: calibrates on the first items, then computes all, `chunk` at a time.
    [[nodiscard]] std::vector<WrittenText> write(const std::vector<TextItem>& items, std::size_t chunk) {
        PackedWeights& weights = *loaded_->weights();
        if (!packed_) {
            weights.pack(NodeMemory::of_process(weights.bytes()), {}, 2);
            packed_ = true;
        }
        const std::vector<std::byte> in = test::encoded(items, sampling_.max_length);
        const std::size_t input_bytes = generator_io(sampling_.max_length).input_bytes;
        model_ = loaded_->make_model(*device_, {.most_items = static_cast<std::uint32_t>(chunk)});
        const std::size_t sample = std::min<std::size_t>(items.size(), loaded_->sample_items());
        model_->calibrate(*device_->make_stream({}), std::span(in).first(sample * input_bytes));
        ModelRunner runner(*device_, *model_, chunk);
        std::vector<std::byte> out;
        for (std::size_t first = 0; first < items.size(); first += chunk) {
            const std::size_t count = std::min(chunk, items.size() - first);
            const auto results = runner.run(std::span(in).subspan(first * input_bytes, count * input_bytes));
            out.insert(out.end(), results.begin(), results.end());
        }
        return test::decoded(out, sampling_.max_length);
    }

    [[nodiscard]] std::vector<WrittenText> write_in_fp32(const std::vector<TextItem>& items) {
        test::TextWriter writer(generator_kernels_of(DeviceKind::cuda, Precision::fp32), gru_, sampling_, *device_,
                                static_cast<std::uint32_t>(items.size()));
        std::vector<WrittenText> texts = writer.write(items);
        fp32_counts_ = writer.counts();
        return texts;
    }

    static std::vector<std::string> names(const std::vector<WrittenText>& texts) {
        std::vector<std::string> names;
        std::ranges::transform(texts, std::back_inserter(names), &WrittenText::bytes);
        return names;
    }

    void load(const GruShape& shape, const Sampling& sampling) {
        gru_ = test::RandomGru(shape, 23);
        sampling_ = sampling;
        loaded_ = std::make_unique<LoadedCertifiedNamegen>(shape, gru_.weights(), sampling, DeviceKind::cuda);
        packed_ = false;
    }

    [[nodiscard]] const Model& model() const { return *model_; }
    [[nodiscard]] const TextCounts& fp32_counts() const { return fp32_counts_; }

private:
    std::unique_ptr<Device> device_;
    test::RandomGru gru_{{.embedding = 1, .hidden = 1, .layers = 1}, 1};
    Sampling sampling_;
    std::unique_ptr<LoadedCertifiedNamegen> loaded_;
    std::unique_ptr<Model> model_;
    bool packed_ = false;
    TextCounts fp32_counts_{};
};

/// With prefixes that hardly any others have: without draws, texts that begin alike are alike, and none of so few need
/// be uncertain.
std::vector<TextItem> items_apart(std::size_t count, std::uint32_t max_length) {
    std::vector<TextItem> items = test::some_text_items(count, max_length);
    for (std::size_t i = 0; i < count; ++i) {
        constexpr std::size_t bytes = 255;
        items[i].prefix = {static_cast<char>(1 + i % bytes), static_cast<char>(1 + i / bytes % bytes)};
    }
    return items;
}

TEST_F(CertifiedNames, AreThoseOfFp32) {
    constexpr std::size_t count = 60'000;
    for (const MatrixInstructions way : ways()) {
        compute_by(way);
        for (const Sampling& sampling :
             {Sampling{.max_length = 10, .seed = 3}, Sampling{.max_length = 7, .temperature = 0},
              Sampling{.max_length = 5, .temperature = 0.8F, .top_k = 12, .seed = 9}}) {
            load({.embedding = 30, .hidden = 200, .layers = 2}, sampling);
            const std::vector<TextItem> items = sampling.temperature == 0
                                                    ? items_apart(count, sampling.max_length)
                                                    : test::some_text_items(count, sampling.max_length);

            const std::vector<WrittenText> certified = write(items, 25'000);

            EXPECT_EQ(names(certified), names(write_in_fp32(items)));
            const Certification done = model().certification().value_or(Certification());
            EXPECT_GT(done.recomputed, 0U) << sampling.max_length << " bytes, " << name_of(way);
            EXPECT_LT(done.recomputed, count) << sampling.max_length << " bytes, " << name_of(way);
            EXPECT_LT(done.recomputed_twice, done.recomputed) << sampling.max_length << " bytes, " << name_of(way);
            const std::vector<ModelCount> counts = model().counts();
            EXPECT_EQ(counts.at(0).value, count);
            EXPECT_EQ(counts.at(1).value, fp32_counts().new_tokens);
            EXPECT_EQ(counts.at(2).value, fp32_counts().ended);
        }
    }
}

TEST_F(CertifiedNames, HaveTheSameBitsInAllChunks) {
    for (const MatrixInstructions way : ways()) {
        compute_by(way);
        load({.embedding = 30, .hidden = 130, .layers = 2}, {.max_length = 10, .seed = 3});
        const std::vector<TextItem> items = test::some_text_items(20'011, 10);
        const std::vector<WrittenText> together = write(items, items.size());
        for (const std::size_t chunk : {std::size_t{4999}, std::size_t{301}}) {
            EXPECT_EQ(write(items, chunk), together) << chunk << ", " << name_of(way);
        }
    }
}

}  // namespace
}  // namespace sluice::namegen
