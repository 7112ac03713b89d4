#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/app.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// A pass of a decoder on a GPU takes as long for one text as for 64.
inline constexpr ChunkLimits decoder_chunks{.least = 64};

/// Changes the first tokens of prompts that are copy number `copy` of a sample: they share prefixes with each other as
/// the sample's do, but not with the sample's, and with those of few other copies.
void make_other_prompts(std::span<std::byte> items, std::uint32_t copy, const TokenSampling& sampling,
                        std::uint32_t vocabulary);

/// A model of one decoder.
[[nodiscard]] std::unique_ptr<Model> make_gpt2_model(const TokenSampling& sampling, std::unique_ptr<Decoder> decoder);

/// A certified app: the same network in several precisions. fp16 continues all prompts; tf32x3 recomputes the texts
/// that fp16 leaves uncertain, and fp32 those that tf32x3 leaves uncertain. With temperature 0 fp16x2 first checks and
/// corrects fp16's texts, tf32x3 recomputes those that are uncertain then, and fp32 checks and corrects tf32x3's. Each
/// precision has its own KV cache.
class LoadedCertifiedGpt2 final : public LoadedApp {
public:
    /// `weights` belong to the caller and must stay alive until weights() is packed. Throws Error like
    /// DecoderKernels::decoder().
    LoadedCertifiedGpt2(const DecoderShape& shape, const DecoderWeights& weights, const TokenSampling& sampling,
                        DeviceKind kind);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override;
    std::uint64_t least_room(std::uint32_t most_items) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;
    [[nodiscard]] ChunkLimits chunk_limits() const override { return decoder_chunks; }
    void vary_copies(std::span<std::byte> items, std::uint32_t copy) const override {
        make_other_prompts(items, copy, sampling_, vocabulary_);
    }

private:
    /// Draws are not checked: errors of their distances have long tails, so that some exceed the bound. A text
    /// recomputed as a whole, for another choice, is free of such an error; a checked one is not.
    [[nodiscard]] bool checks_drafts() const { return checking_ != nullptr; }

    DeviceKind kind_;
    TokenSampling sampling_;
    std::uint32_t vocabulary_;
    PackedWeights weights_;
    std::array<std::unique_ptr<DecoderLayer>, 3> layers_;  // fp16, tf32x3, fp32
    std::unique_ptr<DecoderLayer> checking_;               // fp16x2; null: no checks
};

}  // namespace sluice::gpt2
