#pragma once

#include <cstdint>
#include <memory>

#include "apps/text_model.hpp"
#include "core/app.hpp"
#include "kernels/generator.hpp"

namespace sluice::namegen {

/// A model of one generator.
[[nodiscard]] std::unique_ptr<Model> make_namegen_model(std::uint32_t max_length, std::unique_ptr<Generator> generator);

/// A certified app: the same network in three precisions. fp16 generates all names; tf32x3 recomputes those that fp16
/// leaves uncertain, and fp32 those that tf32x3 leaves uncertain.
class LoadedCertifiedNamegen final : public LoadedApp {
public:
    /// `weights` stay the caller's until weights() are packed.
    LoadedCertifiedNamegen(const GruShape& shape, const GruWeights& weights, const Sampling& sampling, DeviceKind kind);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override;
    std::uint64_t least_room(std::uint32_t most_items) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;

private:
    DeviceKind kind_;
    std::uint32_t max_length_;
    PackedWeights weights_;
    std::unique_ptr<GeneratorLayer> fp16_;
    std::unique_ptr<GeneratorLayer> tf32x3_;
    std::unique_ptr<GeneratorLayer> fp32_;
};

}  // namespace sluice::namegen
