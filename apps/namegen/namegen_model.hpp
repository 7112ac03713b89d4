#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/namegen/certified_texts.hpp"
#include "core/app.hpp"
#include "kernels/generator.hpp"

namespace sluice {

/// Names by any generator.
class NamegenModel : public Model {
public:
    NamegenModel(const IoShape& shape, std::unique_ptr<Generator> generator);

    IoShape shape() const noexcept override { return shape_; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override;
    void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active, std::span<const std::byte> in,
                        std::span<std::byte> out) override;
    std::vector<ModelCount> counts() const override;

protected:
    [[nodiscard]] Generator& generator() const noexcept { return *generator_; }
    /// counts() begin after what has been counted so far.
    void begin_counts();

private:
    IoShape shape_;
    std::unique_ptr<Generator> generator_;
    GeneratorCounts before_{};
};

/// A certified app: the same network three times. fp16 writes all names, tf32x3 again those that fp16 leaves uncertain,
/// and fp32 those that tf32x3 does too.
class LoadedCertifiedNamegen final : public LoadedApp {
public:
    /// `weights` stay the caller's until weights() are packed.
    LoadedCertifiedNamegen(const GruShape& shape, const GruWeights& weights, const Sampling& sampling, DeviceKind kind);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override;
    std::uint64_t least_room(std::uint32_t max_items) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;

private:
    const GeneratorKernels& kernels_;
    std::uint32_t max_length_;
    PackedWeights weights_;
    std::unique_ptr<GeneratorLayer> fp16_;
    std::unique_ptr<GeneratorLayer> tf32x3_;
    std::unique_ptr<GeneratorLayer> fp32_;
};

}  // namespace sluice
