#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/app.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// A pass through a decoder on a GPU takes as long for one text as for these.
inline constexpr ChunkLimits decoder_chunks{.least = 64};

/// Continuations by one decoder.
[[nodiscard]] std::unique_ptr<Model> make_gpt2_model(const TokenSampling& sampling, std::unique_ptr<Decoder> decoder);

/// A certified app: the same network three times. fp16 continues all prompts, tf32x3 again those that fp16 leaves
/// uncertain, and fp32 those that tf32x3 does too. With temperature 0 tf32x3 first checks fp16's doubtful choices, and
/// continues again only what it does not confirm. Each has a cache of its own.
class LoadedCertifiedGpt2 final : public LoadedApp {
public:
    /// `weights` stay the caller's until weights() are packed. Throws Error as DecoderKernels::decoder().
    LoadedCertifiedGpt2(const DecoderShape& shape, const DecoderWeights& weights, const TokenSampling& sampling,
                        DeviceKind kind);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override;
    std::uint64_t least_room(std::uint32_t max_items) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;
    [[nodiscard]] ChunkLimits chunk_limits() const override { return decoder_chunks; }

private:
    /// Not draws: the errors of their distances have long tails, so that now and then one is beyond the bounds. A text
    /// that is continued again for another choice's sake is rid of such an error, a checked one is not.
    [[nodiscard]] bool checks_drafts() const { return sampling_.temperature == 0; }

    DeviceKind kind_;
    TokenSampling sampling_;
    PackedWeights weights_;
    std::array<std::unique_ptr<DecoderLayer>, 3> layers_;  // fp16, tf32x3, fp32
};

}  // namespace sluice::gpt2
