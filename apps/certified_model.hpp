#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "apps/sequential_model.hpp"
#include "core/app.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

struct CertifiedShape {
    std::uint32_t classes;
    bool scores = false;  ///< Whether records hold the scores as well.
    std::uint32_t batch;  ///< Items that the exact model computes at a time.
};

/// Gives the labels of an exact model at nearly the speed of a fast one: the fast one computes all items, the exact one
/// again those whose label that leaves uncertain.
class CertifiedModel final : public Model {
public:
    /// Records of `fast`, made for `max_items`, and `exact`, made for shape.batch, hold label and scores. `kernels` are
    /// those of `device`.
    CertifiedModel(const Kernels& kernels, Device& device, std::unique_ptr<Model> fast, std::unique_ptr<Model> exact,
                   const CertifiedShape& shape, std::uint32_t max_items);

    [[nodiscard]] IoShape shape() const noexcept override;
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override;

    /// Both models compute `sample`; kernels/margin.hpp says what follows. Until then nothing is certain.
    void calibrate(Stream& stream, std::span<const std::byte> sample) override;
    [[nodiscard]] std::optional<Certification> certification() const override;

private:
    [[nodiscard]] std::vector<float> scores_of(Stream& stream, Model& model, std::span<const std::byte> sample,
                                               std::size_t group);

    Device& device_;
    CertifiedShape shape_;
    std::uint32_t max_items_;
    std::unique_ptr<Model> fast_;
    std::unique_ptr<Model> exact_;
    Buffer guesses_;
    std::unique_ptr<Certifier> certifier_;
    float bound_;
};

/// An app whose models are certified: the same layers twice, in fp16 and in fp32.
class LoadedCertified : public LoadedApp {
public:
    using MakeStages = std::function<std::vector<SequentialStage>(Precision, PackedWeights&)>;

    /// `make_stages` makes layers that end in records of label and scores, and is called for both precisions.
    LoadedCertified(DeviceKind kind, const CertifiedShape& shape, const MakeStages& make_stages);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, std::uint32_t max_items) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;

private:
    const Kernels& kernels_;
    CertifiedShape shape_;
    PackedWeights weights_;
    std::vector<SequentialStage> fast_;
    std::vector<SequentialStage> exact_;
};

}  // namespace sluice
