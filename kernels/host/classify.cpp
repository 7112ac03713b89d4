#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"

namespace sluice {
namespace {

IoShape argmax_shape(const ClassifyShape& shape) {
    const auto label_bytes = static_cast<std::uint32_t>(sizeof(std::int32_t));
    return {float_bytes(1, shape.classes), label_bytes + (shape.scores ? float_bytes(1, shape.classes) : 0)};
}

/// Scores to results.
class Argmax final : public HostOperation {
public:
    Argmax(const ClassifyShape& shape, std::uint32_t most_items)
        : HostOperation(argmax_shape(shape), most_items), shape_(shape) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const IoShape item = argmax_shape(shape_);
        for (std::size_t i = 0; i < items; ++i, in += item.input_bytes, out += item.output_bytes) {
            const float* scores = as_floats(in);
            std::int32_t label = 0;
            for (std::uint32_t c = 1; c < shape_.classes; ++c) {
                if (scores[c] > scores[label]) {
                    label = static_cast<std::int32_t>(c);
                }
            }
            const auto is_finite = [](float score) { return std::isfinite(score); };
            if (shape_.marks_nonfinite && !std::all_of(scores, scores + shape_.classes, is_finite)) {
                label |= nonfinite_mark;
            }
            std::memcpy(out, &label, sizeof(label));
            if (shape_.scores) {
                std::memcpy(out + sizeof(label), scores, item.input_bytes);
            }
        }
    }

    ClassifyShape shape_;
};

class Classify final : public Operation {
public:
    Classify(std::unique_ptr<Operation> linear, const ClassifyShape& shape, Device& device, std::uint32_t most_items)
        : linear_(std::move(linear)),
          argmax_(shape, most_items),
          item_bytes_(argmax_shape(shape).input_bytes),
          scores_(device.allocate(MemorySpace::device, std::size_t{item_bytes_} * most_items)) {}

    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) override {
        expects(batch.items * item_bytes_ <= scores_.bytes().size(), "operation: more items than it was made for");
        const std::span<std::byte> scores = scores_.bytes().first(batch.items * item_bytes_);
        linear_->enqueue(stream, batch, in, Outputs(&scores, 1));
        const std::span<const std::byte> computed = scores;
        argmax_.enqueue(stream, batch, Inputs(&computed, 1), out);
    }

private:
    std::unique_ptr<Operation> linear_;
    Argmax argmax_;
    std::size_t item_bytes_;
    Buffer scores_;
};

class ClassifyLayer final : public Layer {
public:
    ClassifyLayer(const ClassifyShape& shape, std::unique_ptr<Layer> linear)
        : shape_(shape), linear_(std::move(linear)) {}

    IoShape shape() const noexcept override {
        return {linear_->shape().input_bytes, argmax_shape(shape_).output_bytes};
    }
    std::unique_ptr<Operation> make_operation(Device& device, std::uint32_t most_items) const override {
        return std::make_unique<Classify>(linear_->make_operation(device, most_items), shape_, device, most_items);
    }

private:
    ClassifyShape shape_;
    std::unique_ptr<Layer> linear_;
};

}  // namespace

std::unique_ptr<Layer> make_host_classify(Precision precision, const ClassifyShape& shape,
                                          std::span<const float> weights, std::span<const float> bias,
                                          PackedWeights& packed) {
    expects(shape.classes >= 1, "classify: no classes");
    return std::make_unique<ClassifyLayer>(
        shape, make_host_linear(precision, {.inputs = shape.inputs, .outputs = shape.classes}, weights, bias, packed));
}

}  // namespace sluice
