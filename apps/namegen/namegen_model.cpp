#include "apps/namegen/namegen_model.hpp"

#include <cmath>
#include <utility>

#include "kernels/kernels.hpp"

namespace sluice {
namespace {

// Names that are written again at a time. A chunk leaves thousands to tf32x3, of which fp32 gets a few.
constexpr std::uint32_t tf32x3_names = 16896;
constexpr std::uint32_t fp32_names = 1024;

constexpr std::uint32_t sample_names = 4096;

class CertifiedNamegenModel final : public NamegenModel {
public:
    /// `again` is what `texts` computes again with.
    CertifiedNamegenModel(const IoShape& shape, std::unique_ptr<CertifiedTexts> texts, CertifiedTexts& again)
        : NamegenModel(shape, std::move(texts)), again_(again) {}

    void calibrate(Stream& stream, std::span<const std::byte> sample) override {
        again_.calibrate(stream, sample);
        texts().calibrate(stream, sample);
        in_sample_ = texts().recomputed();
        again_in_sample_ = again_.recomputed();
        begin_counts();
    }

    std::optional<Certification> certification() const override {
        const TextDoubt& bounds = texts().bounds();
        const bool of_gap = std::isfinite(bounds.gap) && !std::isfinite(bounds.distance);
        return Certification{.recomputed = texts().recomputed() - in_sample_,
                             .recomputed_twice = again_.recomputed() - again_in_sample_,
                             .bound = static_cast<double>(of_gap ? bounds.gap : bounds.distance),
                             .measure = of_gap ? Certification::Measure::gap : Certification::Measure::draw};
    }

private:
    [[nodiscard]] CertifiedTexts& texts() const { return static_cast<CertifiedTexts&>(generator()); }

    CertifiedTexts& again_;
    std::uint64_t in_sample_ = 0;
    std::uint64_t again_in_sample_ = 0;
};

}  // namespace

NamegenModel::NamegenModel(const IoShape& shape, std::unique_ptr<Generator> generator)
    : shape_(shape), generator_(std::move(generator)) {}

void NamegenModel::forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) {
    forward_active(stream, items, nullptr, in, out);
}

void NamegenModel::forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                                  std::span<const std::byte> in, std::span<std::byte> out) {
    generator_->enqueue(stream, {.items = items, .active = active}, in, out);
}

std::vector<ModelCount> NamegenModel::counts() const {
    const GeneratorCounts counts = generator_->counts();
    return {
        {.name = "names", .value = counts.texts - before_.texts},
        {.name = "characters", .value = counts.bytes - before_.bytes},
        {.name = "ended_early", .value = counts.ended - before_.ended, .beside = ModelCount::Beside::share_of_items}};
}

void NamegenModel::begin_counts() {
    before_ = generator_->counts();
}

LoadedCertifiedNamegen::LoadedCertifiedNamegen(const GruShape& shape, const GruWeights& weights,
                                               const Sampling& sampling, DeviceKind kind)
    : kernels_(generator_kernels_of(kind, Precision::fp32)),
      max_length_(sampling.max_length),
      fp16_(generator_kernels_of(kind, Precision::fp16).gru(shape, weights, sampling, weights_)),
      tf32x3_(generator_kernels_of(kind, Precision::tf32x3).gru(shape, weights, sampling, weights_)),
      fp32_(kernels_.gru(shape, weights, sampling, weights_)) {}

std::unique_ptr<Model> LoadedCertifiedNamegen::make_model(Device& device, const ModelRoom& room) const {
    auto again = std::make_unique<CertifiedTexts>(
        kernels_, device, TextCertifierShape{.max_length = max_length_, .max_items = tf32x3_names, .batch = fp32_names},
        tf32x3_->make_generator(device, tf32x3_names), fp32_->make_generator(device, fp32_names));
    CertifiedTexts& second = *again;
    auto texts = std::make_unique<CertifiedTexts>(
        kernels_, device,
        TextCertifierShape{.max_length = max_length_, .max_items = room.max_items, .batch = tf32x3_names},
        fp16_->make_generator(device, room.max_items), std::move(again));
    return std::make_unique<CertifiedNamegenModel>(generator_io(max_length_), std::move(texts), second);
}

std::uint64_t LoadedCertifiedNamegen::least_room(std::uint32_t max_items) const {
    return fp16_->work_bytes(max_items) + tf32x3_->work_bytes(tf32x3_names) + fp32_->work_bytes(fp32_names);
}

std::uint32_t LoadedCertifiedNamegen::sample_items() const {
    return sample_names;
}

}  // namespace sluice
