#include "apps/certified_model.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t sample_batches = 12;  // some 2,000 items, a fiftieth of a second

std::size_t record_bytes(const CertifiedShape& shape, bool scores) {
    return sizeof(std::int32_t) + (scores ? shape.classes * sizeof(float) : 0);
}

}  // namespace

CertifiedModel::CertifiedModel(const Kernels& kernels, Device& device, std::unique_ptr<Model> fast,
                               std::unique_ptr<Model> exact, const CertifiedShape& shape, std::uint32_t max_items)
    : device_(device),
      shape_(shape),
      max_items_(max_items),
      fast_(std::move(fast)),
      exact_(std::move(exact)),
      guesses_(device.allocate(MemorySpace::device, max_items * record_bytes(shape, true))),
      certifier_(kernels.make_certifier(device,
                                        {.input_bytes = exact_->shape().input_bytes,
                                         .classes = shape.classes,
                                         .scores = shape.scores,
                                         .max_items = max_items,
                                         .batch = shape.batch},
                                        *exact_)),
      bound_(Margin().bound) {
    expects(fast_->shape() == exact_->shape(), "certified model: its two models differ in shape");
}

IoShape CertifiedModel::shape() const noexcept {
    return {fast_->shape().input_bytes, static_cast<std::uint32_t>(record_bytes(shape_, shape_.scores))};
}

void CertifiedModel::forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                             std::span<std::byte> out) {
    const auto guesses = guesses_.bytes().first(items * record_bytes(shape_, true));
    fast_->forward(stream, items, in, guesses);
    certifier_->enqueue(stream, items, in, guesses, out);
}

void CertifiedModel::calibrate(Stream& stream, std::span<const std::byte> sample) {
    const std::vector<float> fast = scores_of(stream, *fast_, sample, max_items_);
    const std::vector<float> exact = scores_of(stream, *exact_, sample, shape_.batch);
    const Margin margin = calibrate_margin(fast, exact, shape_.classes);
    certifier_->set_margin(margin);
    bound_ = margin.bound;
}

std::optional<Certification> CertifiedModel::certification() const {
    return Certification{.recomputed = certifier_->recomputed(), .bound = static_cast<double>(bound_)};
}

/// (items, classes), computed `group` items at a time.
std::vector<float> CertifiedModel::scores_of(Stream& stream, Model& model, std::span<const std::byte> sample,
                                             std::size_t group) {
    const IoShape io = model.shape();
    const std::size_t items = sample.size() / io.input_bytes;
    const Buffer arrived = device_.allocate(MemorySpace::pinned, group * io.input_bytes);
    const Buffer in = device_.allocate(MemorySpace::device, group * io.input_bytes);
    const Buffer out = device_.allocate(MemorySpace::device, group * io.output_bytes);
    const Buffer records = device_.allocate(MemorySpace::pinned, group * io.output_bytes);
    std::vector<float> scores(items * shape_.classes);
    for (std::size_t first = 0; first < items; first += group) {
        const std::size_t count = std::min(group, items - first);
        const auto some_in = in.bytes().first(count * io.input_bytes);
        const auto some_out = out.bytes().first(count * io.output_bytes);
        std::ranges::copy(sample.subspan(first * io.input_bytes, some_in.size()), arrived.bytes().begin());
        stream.copy(some_in, arrived.bytes().first(some_in.size()));
        model.forward(stream, count, some_in, some_out);
        stream.copy(records.bytes().first(some_out.size()), some_out);
        stream.record().wait();
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(&scores[(first + i) * shape_.classes],
                        &records.bytes()[i * io.output_bytes + sizeof(std::int32_t)], shape_.classes * sizeof(float));
        }
    }
    return scores;
}

LoadedCertified::LoadedCertified(DeviceKind kind, const CertifiedShape& shape, const MakeStages& make_stages)
    : kernels_(kernels_of(kind, Precision::fp32)),
      shape_(shape),
      fast_(make_stages(Precision::fp16, weights_)),
      exact_(make_stages(Precision::fp32, weights_)) {}

std::unique_ptr<Model> LoadedCertified::make_model(Device& device, std::uint32_t max_items) const {
    return std::make_unique<CertifiedModel>(
        kernels_, device, std::make_unique<SequentialModel>(device, fast_, max_items),
        std::make_unique<SequentialModel>(device, exact_, shape_.batch), shape_, max_items);
}

std::uint32_t LoadedCertified::sample_items() const {
    return sample_batches * shape_.batch;
}

}  // namespace sluice
