#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/classifier/padded_channels.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice {
namespace {

IoShape io_shape(const LinearShape& shape, Precision precision) {
    return {activation_bytes(precision, 1, shape.inputs), activation_bytes(precision, 1, shape.outputs)};
}

/// gemm/'s product is used for bf16 and fp16, cuBLASLt for the others.
constexpr bool has_own_product(Precision precision) {
    return precision == Precision::bf16 || precision == Precision::fp16;
}

class Linear final : public CudaOperation {
public:
    Linear(const LinearShape& shape, Precision precision, Device& device, std::uint32_t most_items, Buffer weights,
           Buffer bias)
        : CudaOperation(io_shape(shape, precision), most_items),
          shape_(shape),
          precision_(precision),
          instructions_(as_cuda(device).instructions()),
          weights_(std::move(weights)),
          bias_(std::move(bias)),
          workspace_(device.allocate(
              MemorySpace::device, shape.batch_invariant || has_own_product(precision) ? 0 : linear_workspace_bytes)) {}

private:
    using Plan = std::variant<Gemm, LinearGemm>;

    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        std::visit([&](const auto& product) { product.enqueue(stream); }, plan(items, in, out));
    }

    /// Full chunks share a plan, and are captured; a short one gets its own.
    const Plan& plan(std::uint32_t items, const std::byte* in, std::byte* out) {
        auto found = plans_.find({items, in, out});
        if (found == plans_.end()) {
            found = plans_.emplace(std::tuple(items, in, out), make_plan(items, in, out)).first;
        }
        return found->second;
    }

    [[nodiscard]] Plan make_plan(std::uint32_t items, const std::byte* in, std::byte* out) const {
        if (has_own_product(precision_)) {
            return Gemm({.rows = items,
                         .columns = shape_.outputs,
                         .depth = shape_.inputs,
                         .activation = shape_.relu ? Activation::relu : Activation::none},
                        precision_,
                        {.a = in,
                         .b = weights_.bytes().data(),
                         .bias = bias_.as<float>().data(),
                         .residual = nullptr,
                         .out = out},
                        {.instructions = instructions_});
        }
        return LinearGemm({.inputs = shape_.inputs,
                           .outputs = shape_.outputs,
                           .relu = shape_.relu,
                           .batch_invariant = shape_.batch_invariant},
                          precision_, items,
                          {.in = in,
                           .weights = weights_.bytes().data(),
                           .bias = bias_.bytes().data(),
                           .out = out,
                           .workspace = workspace_.bytes().data(),
                           .workspace_bytes = workspace_.bytes().size()});
    }

    LinearShape shape_;
    Precision precision_;
    MatrixInstructions instructions_;
    Buffer weights_;
    Buffer bias_;
    Buffer workspace_;
    std::map<std::tuple<std::uint32_t, const std::byte*, std::byte*>, Plan> plans_;
};

/// The layer with its inputs as in memory, where a convolution's activations have padded channels.
LinearShape padded(LinearShape shape) {
    if (shape.channels > 1) {
        const std::uint32_t positions = shape.inputs / shape.channels;
        shape.channels = padded_channels(shape.channels);
        shape.inputs = positions * shape.channels;
    }
    return shape;
}

/// `rows` outputs from `first` on: (out, channel * positions + position) to (out, position * channels + channel), the
/// activations' order.
std::vector<float> in_memory_order(const LinearShape& shape, std::span<const float> weights, std::size_t first,
                                   std::size_t rows) {
    const std::size_t positions = shape.inputs / shape.channels;
    const LinearShape to = padded(shape);
    std::vector<float> result(rows * to.inputs);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::span<const float> from = weights.subspan((first + row) * shape.inputs, shape.inputs);
        for (std::size_t p = 0; p < positions; ++p) {
            for (std::size_t c = 0; c < shape.channels; ++c) {
                result[row * to.inputs + p * to.channels + c] = from[c * positions + p];
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
    const LinearShape on_gpu = padded(shape);
    const std::size_t row_bytes = on_gpu.inputs * element_bytes(precision);
    const std::size_t piece_rows = rows_of_piece(on_gpu.inputs);
    const CudaWeights packed_weights(
        packed, on_gpu.outputs * row_bytes, piece_rows * row_bytes, [=](std::uint32_t piece) {
            const std::size_t first = piece * piece_rows;
            const std::size_t rows = std::min<std::size_t>(piece_rows, shape.outputs - first);
            return encode(precision, in_memory_order(shape, weights, first, rows));
        });
    const Precision of_bias = has_own_product(precision) ? Precision::fp32 : precision;
    const CudaWeights packed_bias(packed, bias.size() * element_bytes(of_bias), [=] { return encode(of_bias, bias); });
    return make_cuda_layer<Linear>(io_shape(on_gpu, precision), on_gpu, precision, packed_weights, packed_bias);
}

}  // namespace sluice
