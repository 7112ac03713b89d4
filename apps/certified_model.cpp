#include "apps/certified_model.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/device/model_runner.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t sample_batches = 9;  // some 2,000 items

std::size_t result_bytes(const CertifiedShape& shape, bool scores) {
    return sizeof(std::int32_t) + (scores ? shape.classes * sizeof(float) : 0);
}

}  // namespace

CertifiedModel::CertifiedModel(const Kernels& kernels, Device& device, std::unique_ptr<Model> fast,
                               std::unique_ptr<Model> exact, const CertifiedShape& shape, std::uint32_t most_items)
    : device_(device),
      shape_(shape),
      most_items_(most_items),
      fast_(std::move(fast)),
      exact_(std::move(exact)),
      guesses_(device.allocate(MemorySpace::device, most_items * result_bytes(shape, true))),
      certifier_(kernels.certifier.make_certifier(device,
                                                  {.input_bytes = exact_->shape().input_bytes,
                                                   .classes = shape.classes,
                                                   .scores = shape.scores,
                                                   .most_items = most_items,
                                                   .batch = shape.batch},
                                                  *exact_)),
      bound_(Margin().bound) {
    expects(fast_->shape() == exact_->shape(), "certified model: its two models differ in shape");
}

IoShape CertifiedModel::shape() const noexcept {
    return {fast_->shape().input_bytes, static_cast<std::uint32_t>(result_bytes(shape_, shape_.scores))};
}

void CertifiedModel::forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                             std::span<std::byte> out) {
    forward_active(stream, items, nullptr, in, out);
}

void CertifiedModel::forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                                    std::span<const std::byte> in, std::span<std::byte> out) {
    const auto guesses = guesses_.bytes().first(items * result_bytes(shape_, true));
    fast_->forward_active(stream, items, active, in, guesses);
    const std::array<std::span<const std::byte>, 2> items_and_guesses{in, guesses};
    certifier_->enqueue(stream, {.items = items, .active = active}, items_and_guesses, Outputs(&out, 1));
}

void CertifiedModel::calibrate(Stream& stream, std::span<const std::byte> sample) {
    exact_->calibrate(stream, sample);
    const std::vector<float> fast = scores_of(*fast_, sample, most_items_);
    const std::vector<float> exact = scores_of(*exact_, sample, shape_.batch);
    const Margin margin = calibrate_margin(fast, exact, shape_.classes);
    certifier_->set_margin(margin);
    bound_ = margin.bound;
    again_in_sample_ = exact_->certification().value_or(Certification()).recomputed;
}

std::optional<Certification> CertifiedModel::certification() const {
    const std::uint64_t again = exact_->certification().value_or(Certification()).recomputed;
    return Certification{.recomputed = certifier_->recomputed(),
                         .recomputed_twice = again - again_in_sample_,
                         .bound = static_cast<double>(bound_)};
}

/// (items, classes), computed `group` items at a time.
std::vector<float> CertifiedModel::scores_of(Model& model, std::span<const std::byte> sample, std::size_t group) {
    const IoShape io = model.shape();
    const std::size_t items = sample.size() / io.input_bytes;
    ModelRunner runner(device_, model, group);
    std::vector<float> scores(items * shape_.classes);
    for (std::size_t first = 0; first < items; first += group) {
        const std::size_t count = std::min(group, items - first);
        const auto results = runner.run(sample.subspan(first * io.input_bytes, count * io.input_bytes));
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(&scores[(first + i) * shape_.classes], &results[i * io.output_bytes + sizeof(std::int32_t)],
                        shape_.classes * sizeof(float));
        }
    }
    return scores;
}

LoadedCertified::LoadedCertified(DeviceKind kind, const CascadeShape& shape, const MakeStages& make_stages)
    : kernels_(kernels_of(kind, Precision::fp32)),
      shape_(shape),
      fp16_(make_stages(Precision::fp16, weights_)),
      tf32x3_(make_stages(Precision::tf32x3, weights_)),
      fp32_(make_stages(Precision::fp32, weights_)) {}

std::unique_ptr<Model> LoadedCertified::make_model(Device& device, const ModelRoom& room) const {
    const auto certified = [&](std::span<const SequentialStage> fast, std::unique_ptr<Model> exact,
                               const CertifiedShape& shape, std::uint32_t items) {
        return std::make_unique<CertifiedModel>(
            kernels_, device, std::make_unique<SequentialModel>(device, fast, items), std::move(exact), shape, items);
    };
    auto exact =
        certified(tf32x3_, std::make_unique<SequentialModel>(device, fp32_, shape_.fp32_batch),
                  {.classes = shape_.classes, .scores = true, .batch = shape_.fp32_batch}, shape_.tf32x3_batch);
    return certified(fp16_, std::move(exact),
                     {.classes = shape_.classes, .scores = shape_.scores, .batch = shape_.tf32x3_batch},
                     room.most_items);
}

std::uint32_t LoadedCertified::sample_items() const {
    return sample_batches * shape_.tf32x3_batch;
}

}  // namespace sluice
