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
    bool scores = false;  ///< Whether results hold the scores as well.
    std::uint32_t batch;  ///< Batch size of the exact model, in items.
};

/// Computes the labels of an exact model at nearly the speed of a fast one: the fast model computes all items, the
/// exact model recomputes those with an uncertain label. The exact model may be certified itself.
class CertifiedModel final : public Model {
public:
    /// Results of `fast` (made for `most_items`) and `exact` (made for shape.batch) hold label and scores. `kernels`
    /// are those of `device`.
    CertifiedModel(const Kernels& kernels, Device& device, std::unique_ptr<Model> fast, std::unique_ptr<Model> exact,
                   const CertifiedShape& shape, std::uint32_t most_items);

    [[nodiscard]] IoShape shape() const noexcept override;
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override;
    void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active, std::span<const std::byte> in,
                        std::span<std::byte> out) override;

    /// Calibrates the exact model with `sample` if it needs that, then computes the sample with both models to derive
    /// the margin (kernels/margin.hpp). Before that no item is certain.
    void calibrate(Stream& stream, std::span<const std::byte> sample) override;
    [[nodiscard]] std::optional<Certification> certification() const override;

private:
    [[nodiscard]] std::vector<float> scores_of(Model& model, std::span<const std::byte> sample, std::size_t group);

    Device& device_;
    CertifiedShape shape_;
    std::uint32_t most_items_;
    std::unique_ptr<Model> fast_;
    std::unique_ptr<Model> exact_;
    Buffer guesses_;
    std::unique_ptr<Certifier> certifier_;
    float bound_;
    std::uint64_t again_in_sample_ = 0;  // by the exact model, if it is certified
};

struct CascadeShape {
    std::uint32_t classes;
    bool scores = false;         ///< Whether results hold the scores as well.
    std::uint32_t tf32x3_batch;  ///< Batch size of the first recomputation, in items.
    std::uint32_t fp32_batch;    ///< Batch size of the second.
};

/// An app with certified models: the same layers in three precisions. fp16 computes all items; tf32x3 recomputes those
/// that fp16 leaves uncertain, and fp32 those that tf32x3 leaves uncertain.
class LoadedCertified : public LoadedApp {
public:
    using MakeStages = std::function<std::vector<SequentialStage>(Precision, PackedWeights&)>;

    /// `make_stages` is called for each precision; its layers end with label and scores.
    LoadedCertified(DeviceKind kind, const CascadeShape& shape, const MakeStages& make_stages);

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override;
    [[nodiscard]] std::uint32_t sample_items() const override;

private:
    const Kernels& kernels_;
    CascadeShape shape_;
    PackedWeights weights_;
    std::vector<SequentialStage> fp16_;
    std::vector<SequentialStage> tf32x3_;
    std::vector<SequentialStage> fp32_;
};

}  // namespace sluice
