#include "apps/namegen/namegen_model.hpp"

#include <utility>
#include <vector>

#include "kernels/kernels.hpp"

namespace sluice::namegen {
namespace {

// Names that are written again at a time. A chunk leaves thousands to tf32x3, of which fp32 gets a few.
constexpr std::uint32_t tf32x3_names = 16896;
constexpr std::uint32_t fp32_names = 1024;

constexpr std::uint32_t sample_names = 4096;

std::vector<ModelCount> name_counts(const TextCounts& counts) {
    return {{.name = "names", .value = counts.texts},
            {.name = "characters", .value = counts.new_tokens},
            {.name = "ended_early", .value = counts.ended, .beside = ModelCount::Beside::share_of_items}};
}

}  // namespace

std::unique_ptr<Model> make_namegen_model(std::uint32_t max_length, std::unique_ptr<Generator> generator) {
    return std::make_unique<TextModel>(generator_io(max_length), std::move(generator), &name_counts);
}

LoadedCertifiedNamegen::LoadedCertifiedNamegen(const GruShape& shape, const GruWeights& weights,
                                               const Sampling& sampling, DeviceKind kind)
    : kind_(kind),
      max_length_(sampling.max_length),
      fp16_(generator_kernels_of(kind, Precision::fp16).gru(shape, weights, sampling, weights_)),
      tf32x3_(generator_kernels_of(kind, Precision::tf32x3).gru(shape, weights, sampling, weights_)),
      fp32_(generator_kernels_of(kind, Precision::fp32).gru(shape, weights, sampling, weights_)) {}

std::unique_ptr<Model> LoadedCertifiedNamegen::make_model(Device& device, const ModelRoom& room) const {
    TextCascade cascade{.form = GeneratorTexts{max_length_},
                        .stages = {{{fp16_->make_generator(device, room.most_items), room.most_items},
                                    {tf32x3_->make_generator(device, tf32x3_names), tf32x3_names},
                                    {fp32_->make_generator(device, fp32_names), fp32_names}}}};
    return std::make_unique<CertifiedTextModel>(kernels_of(kind_).certifier, device, std::move(cascade), &name_counts);
}

std::uint64_t LoadedCertifiedNamegen::least_room(std::uint32_t most_items) const {
    return fp16_->work_bytes(most_items) + tf32x3_->work_bytes(tf32x3_names) + fp32_->work_bytes(fp32_names) +
           CertifiedTextModel::bytes(GeneratorTexts{max_length_}, {most_items, tf32x3_names, fp32_names}, sample_names,
                                     false);
}

std::uint32_t LoadedCertifiedNamegen::sample_items() const {
    return sample_names;
}

}  // namespace sluice::namegen
