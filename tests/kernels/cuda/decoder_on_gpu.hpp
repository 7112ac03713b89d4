#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/decoder_texts.hpp"

/// Whole decoders on a GPU.
namespace sluice::test {

inline constexpr std::uint64_t plenty = std::uint64_t{1} << 40U;

/// A precision, and the instructions by which products in it are computed.
struct DecoderKind {
    DecoderKind(Precision of, MatrixInstructions by = MatrixInstructions::mma) : precision(of), instructions(by) {}

    Precision precision;
    MatrixInstructions instructions;
};

inline std::ostream& operator<<(std::ostream& out, const DecoderKind& kind) {
    return out << name_of(kind.precision) << " by " << name_of(kind.instructions);
}

struct ModelCase {
    DecoderShape shape;
    DecoderParts parts{};
};

class DecoderOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            for (const MatrixInstructions way : ways()) {
                devices_[way] = make_cuda_device(0, {.instructions = way});
            }
        }
    }

    [[nodiscard]] Continuer continuer(DecoderKind kind, const RandomDecoder& model, const TokenSampling& sampling,
                                      std::uint32_t most_items, std::uint64_t more_bytes = plenty) const {
        return {decoder_kernels_of(DeviceKind::cuda, kind.precision),
                *devices_.at(kind.instructions),
                model,
                sampling,
                most_items,
                more_bytes};
    }

    /// All that this GPU and build have.
    [[nodiscard]] std::vector<DecoderKind> kinds() const {
        std::vector<DecoderKind> all{Precision::fp32};
        for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
            for (const MatrixInstructions way : ways()) {
                all.emplace_back(precision, way);
            }
        }
        if (gpu().instructions() == MatrixInstructions::wgmma) {
            all.emplace_back(Precision::tf32x3, MatrixInstructions::wgmma);
            all.emplace_back(Precision::fp16x2, MatrixInstructions::wgmma);
            all.emplace_back(Precision::fp8, MatrixInstructions::wgmma);
        }
        return all;
    }

    [[nodiscard]] Device& device() const { return *devices_.at(MatrixInstructions::mma); }

    /// Chunks of several sizes fill passes and tiles or not, and take tiles of other shapes; with the least memory
    /// texts wait for pages, for so long that only some of them do.
    void expect_no_neighbours(const ModelCase& one, DecoderKind kind, const TokenSampling& sampling) const {
        const RandomDecoder model(one.shape, 7, one.parts);
        const std::vector<Tokens> prompts = random_prompts(3000, 60, one.shape.vocabulary, 8);
        const std::vector<Continued> together = continuer(kind, model, sampling, 3000)(prompts);
        ASSERT_EQ(together.size(), prompts.size());
        EXPECT_GT(std::ranges::count_if(together, [](const Continued& text) { return text.start.has_end != 0; }), 100);
        const auto expect_same = [&](std::uint32_t chunk, std::size_t some, std::uint64_t more_bytes) {
            const std::vector<Tokens> first(prompts.begin(), prompts.begin() + static_cast<std::ptrdiff_t>(some));

            const std::vector<Continued> apart = continuer(kind, model, sampling, chunk, more_bytes)(first);

            ASSERT_TRUE(std::ranges::equal(apart, std::span(together).first(some)))
                << kind << ", chunks of " << chunk << ", " << more_bytes << " bytes more";
        };
        expect_same(1, 20, plenty);
        expect_same(7, 140, plenty);
        expect_same(300, 3000, plenty);
        expect_same(100, 200, 0);
    }

private:
    std::map<MatrixInstructions, std::unique_ptr<Device>> devices_;
};

/// That every precision has.
inline constexpr DecoderShape of_all{
    .vocabulary = 300, .positions = 80, .width = 128, .layers = 3, .heads = 2, .inner = 256};

/// Of GPT-2's family and of Llama's, that every precision has.
inline const DecoderShape llama_of_all =
    like_llama({.vocabulary = 300, .positions = 80, .width = 128, .layers = 3, .heads = 4, .inner = 264}, 2);
inline const ModelCase models_of_all[] = {{of_all}, {llama_of_all, parts_of_llama}, {with_prefix(of_all)}};

inline const TokenSampling sampled{.max_prompt = 60,
                                   .max_new = 10,
                                   .repetition_penalty = 1.3F,
                                   .temperature = 0.8F,
                                   .top_k = 50,
                                   .top_p = 0.9F,
                                   .end = EndTokens(std::array{64U, 180U, 279U}),
                                   .seed = 5,
                                   .log_probabilities = true};

/// What rounding weights and activations may do to a log-probability, and a few times as much to be sure.
inline double log_tolerance(Precision precision) {
    switch (precision) {
        case Precision::fp8:
            return 2;
        case Precision::bf16:
            return 0.25;
        case Precision::fp16:
            return 0.04;
        case Precision::tf32:
            return 0.04;
        case Precision::tf32x3:
            return 2e-5;
        case Precision::fp16x2:
            return 2e-3;
        default:
            return 1e-4;
    }
}

inline double log_of_softmax(const std::vector<double>& scores, std::uint32_t token) {
    double sum = 0;
    for (const double score : scores) {
        sum += std::exp(score - scores[token]);
    }
    return -std::log(sum);
}

}  // namespace sluice::test
