#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/device.hpp"
#include "kernels/generator.hpp"
#include "kernels/text_certifier.hpp"

namespace sluice {

/// Writes an exact generator's texts at nearly the speed of a fast one: the fast one writes all, the exact one again
/// those that came too close to another. The exact one may be certified itself. Doubts are the fast one's,
/// log-probabilities those of the generator that wrote the text.
class CertifiedTexts final : public Generator {
public:
    /// `fast` was made for shape.max_items, `exact` for shape.batch, both on `device`.
    CertifiedTexts(const GeneratorKernels& kernels, Device& device, const TextCertifierShape& shape,
                   std::unique_ptr<Generator> fast, std::unique_ptr<Generator> exact);

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override;
    [[nodiscard]] GeneratorCounts counts() const override;

    /// Both write `sample`, whole items; kernels/doubt_bounds.hpp says what follows. An exact one that is certified has
    /// learnt before. Until then nothing is certain.
    void calibrate(Stream& stream, std::span<const std::byte> sample);

    /// Texts that the exact one has written, in all that is done.
    [[nodiscard]] std::uint64_t recomputed() const { return certifier_->recomputed(); }
    [[nodiscard]] const TextDoubt& bounds() const noexcept { return bounds_; }

private:
    struct Written;
    [[nodiscard]] Written write(Generator& generator, std::size_t group, Stream& stream,
                                std::span<const std::byte> sample) const;

    Device& device_;
    TextCertifierShape shape_;
    IoShape io_;
    std::unique_ptr<Generator> fast_;
    std::unique_ptr<Generator> exact_;
    Buffer doubts_;
    std::unique_ptr<TextCertifier> certifier_;
    TextDoubt bounds_{};
};

}  // namespace sluice
