#include <map>
#include <tuple>

#include "core/error.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/linear_gemm.hpp"

namespace sluice {
namespace {

IoShape io_shape(const LinearShape& shape, Precision precision) {
    return {activation_bytes(precision, 1, shape.inputs), activation_bytes(precision, 1, shape.outputs)};
}

class Linear final : public CudaOperation {
public:
    Linear(const LinearShape& shape, Precision precision, Device& device, std::uint32_t max_items, Buffer weights,
           Buffer bias)
        : CudaOperation(io_shape(shape, precision), max_items),
          shape_(shape),
          precision_(precision),
          weights_(std::move(weights)),
          bias_(std::move(bias)),
          workspace_(device.allocate(MemorySpace::device, shape.batch_invariant ? 0 : linear_workspace_bytes)) {}

private:
    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        plan(items, in, out).enqueue(stream);
    }

    /// Full chunks have one plan, and are captured; a short one gets its own.
    const LinearGemm& plan(std::uint32_t items, const std::byte* in, std::byte* out) {
        auto found = plans_.find({items, in, out});
        if (found == plans_.end()) {
            const LinearGemmShape shape{.inputs = shape_.inputs,
                                        .outputs = shape_.outputs,
                                        .relu = shape_.relu,
                                        .batch_invariant = shape_.batch_invariant};
            const LinearGemmMemory memory{.in = in,
                                          .weights = weights_.bytes().data(),
                                          .bias = bias_.bytes().data(),
                                          .out = out,
                                          .workspace = workspace_.bytes().data(),
                                          .workspace_bytes = workspace_.bytes().size()};
            found = plans_.try_emplace({items, in, out}, shape, precision_, items, memory).first;
        }
        return found->second;
    }

    LinearShape shape_;
    Precision precision_;
    Buffer weights_;
    Buffer bias_;
    Buffer workspace_;
    std::map<std::tuple<std::uint32_t, const std::byte*, std::byte*>, LinearGemm> plans_;
};

/// (out, channel * positions + position) to (out, position * channels + channel), as the activations lie.
std::vector<float> in_memory_order(const LinearShape& shape, std::span<const float> weights) {
    const std::size_t channels = shape.channels;
    const std::size_t positions = shape.inputs / channels;
    std::vector<float> result(weights.size());
    for (std::size_t row = 0; row < weights.size(); row += shape.inputs) {
        for (std::size_t p = 0; p < positions; ++p) {
            for (std::size_t c = 0; c < channels; ++c) {
                result[row + p * channels + c] = weights[row + c * positions + p];
            }
        }
    }
    return result;
}

}  // namespace

std::unique_ptr<Layer> make_cuda_linear(const LinearShape& shape, Precision precision, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    expects(shape.channels >= 1 && shape.inputs % shape.channels == 0, "linear: its channels do not divide its inputs");
    expects(weights.size() == std::size_t{shape.outputs} * shape.inputs && bias.size() == shape.outputs,
            "linear: weights or bias have the wrong size");
    const CudaWeights packed_weights(packed, weights.size() * element_bytes(precision),
                                     [=] { return encode(precision, in_memory_order(shape, weights)); });
    const CudaWeights packed_bias(packed, bias.size() * element_bytes(precision),
                                  [=] { return encode(precision, bias); });
    return make_cuda_layer<Linear>(io_shape(shape, precision), shape, precision, packed_weights, packed_bias);
}

}  // namespace sluice
