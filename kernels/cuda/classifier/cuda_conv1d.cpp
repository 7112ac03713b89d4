#include <utility>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/classifier/conv_simt.hpp"
#include "kernels/cuda/classifier/padded_channels.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

IoShape io_shape(const ConvGemmShape& shape, Precision precision) {
    return {activation_bytes(precision, shape.length, shape.channels),
            activation_bytes(precision, shape.positions() / shape.pool, shape.outputs)};
}

class Conv1d final : public CudaOperation {
public:
    Conv1d(const ConvGemmShape& shape, Precision precision, Device& device, std::uint32_t most_items, Buffer weights,
           Buffer bias)
        : CudaOperation(io_shape(shape, precision), most_items),
          shape_(shape),
          precision_(precision),
          instructions_(as_cuda(device).instructions()),
          most_items_(most_items),
          weights_(std::move(weights)),
          bias_(std::move(bias)) {}

private:
    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        const ConvGemmMemory memory{.in = in,
                                    .weights = weights_.bytes().data(),
                                    .bias = reinterpret_cast<const float*>(bias_.bytes().data()),
                                    .out = out};
        if (precision_ == Precision::fp32) {
            ConvSimt(shape_, most_items_, memory).enqueue(items, stream);
        } else {
            ConvGemm(shape_, precision_, items, memory, {.instructions = instructions_}).enqueue(stream);
        }
    }

    ConvGemmShape shape_;
    Precision precision_;
    MatrixInstructions instructions_;
    std::uint32_t most_items_;
    Buffer weights_;
    Buffer bias_;
};

}  // namespace

std::unique_ptr<Layer> make_cuda_conv1d(const Conv1dShape& shape, Precision precision, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    const ConvGemmShape gemm{.length = shape.length,
                             .channels = padded_channels(shape.in_channels),
                             .outputs = padded_channels(shape.out_channels),
                             .taps = shape.taps,
                             .relu = shape.relu,
                             .pool = shape.pool};
    const std::size_t count = std::size_t{gemm.outputs} * gemm.channels * gemm.taps;
    const CudaWeights packed_weights(packed, count * element_bytes(precision), [=] {
        const std::vector<float> inputs = pad_channels(weights, shape.out_channels, shape.in_channels, shape.taps);
        const std::size_t of_output = std::size_t{gemm.channels} * gemm.taps;
        return pack_conv_weights(gemm, precision, pad_channels(inputs, 1, shape.out_channels, of_output));
    });
    const CudaWeights packed_bias(packed, gemm.outputs * sizeof(float),
                                  [=] { return bytes_of(pad_channels(bias, 1, shape.out_channels, 1)); });
    return make_cuda_layer<Conv1d>(io_shape(gemm, precision), gemm, precision, packed_weights, packed_bias);
}

}  // namespace sluice
