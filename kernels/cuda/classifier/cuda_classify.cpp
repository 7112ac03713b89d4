#include <utility>

#include "core/error.hpp"
#include "kernels/cuda/classifier/label.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

IoShape io_shape(const ClassifyShape& shape, Precision precision) {
    const auto result = static_cast<std::uint32_t>(sizeof(std::int32_t)) * (shape.scores ? 1 + shape.classes : 1);
    return {activation_bytes(precision, 1, shape.inputs), result};
}

class Classify final : public CudaOperation {
public:
    Classify(const ClassifyShape& shape, Precision precision, Device&, std::uint32_t most_items, Buffer weights,
             Buffer bias)
        : CudaOperation(io_shape(shape, precision), most_items),
          shape_(shape),
          precision_(precision),
          weights_(std::move(weights)),
          bias_(std::move(bias)) {}

private:
    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        enqueue_labels({.inputs = shape_.inputs,
                        .classes = shape_.classes,
                        .scores = shape_.scores,
                        .mark = shape_.marks_nonfinite ? nonfinite_mark : 0},
                       precision_,
                       {.in = in,
                        .weights = reinterpret_cast<const float*>(weights_.bytes().data()),
                        .bias = reinterpret_cast<const float*>(bias_.bytes().data()),
                        .out = reinterpret_cast<std::int32_t*>(out)},
                       items, stream);
    }

    ClassifyShape shape_;
    Precision precision_;
    Buffer weights_;
    Buffer bias_;
};

}  // namespace

std::unique_ptr<Layer> make_cuda_classify(const ClassifyShape& shape, Precision precision,
                                          std::span<const float> weights, std::span<const float> bias,
                                          PackedWeights& packed) {
    expects(weights.size() == std::size_t{shape.classes} * shape.inputs && bias.size() == shape.classes,
            "classify: weights or bias have the wrong size");
    const CudaWeights packed_weights(packed, weights.size_bytes(), [=] { return bytes_of(weights); });
    const CudaWeights packed_bias(packed, bias.size_bytes(), [=] { return bytes_of(bias); });
    return make_cuda_layer<Classify>(io_shape(shape, precision), shape, precision, packed_weights, packed_bias);
}

}  // namespace sluice
