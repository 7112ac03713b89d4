#include <utility>

#include "core/error.hpp"
#include "kernels/cuda/classifier/norm_pool.hpp"
#include "kernels/cuda/classifier/padded_channels.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

IoShape io_shape(const NormPoolShape& shape, Precision precision) {
    return {activation_bytes(precision, shape.positions, shape.channels),
            activation_bytes(in_one_part(precision), shape.positions / NormPoolShape::pool, shape.channels)};
}

class NormReluPool final : public CudaOperation {
public:
    NormReluPool(const NormPoolShape& shape, Precision precision, Device&, std::uint32_t most_items, Buffer gamma,
                 Buffer beta)
        : CudaOperation(io_shape(shape, precision), most_items),
          shape_(shape),
          precision_(precision),
          gamma_(std::move(gamma)),
          beta_(std::move(beta)) {}

private:
    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        NormPool(shape_, precision_,
                 {.in = in, .gamma = gamma_.bytes().data(), .beta = beta_.bytes().data(), .out = out})
            .enqueue(items, stream);
    }

    NormPoolShape shape_;
    Precision precision_;
    Buffer gamma_;
    Buffer beta_;
};

}  // namespace

std::unique_ptr<Layer> make_cuda_norm_relu_pool(const NormShape& shape, Precision precision,
                                                std::span<const float> gamma, std::span<const float> beta,
                                                PackedWeights& packed) {
    expects(shape.pool == NormPoolShape::pool, "norm_relu_pool: the GPU pools by 3");
    const std::uint32_t channels = padded_channels(shape.channels);
    const NormPoolShape on_gpu{
        .positions = shape.positions, .channels = channels, .padding = channels - shape.channels};
    const auto pack = [&](std::span<const float> values) {
        return CudaWeights(packed, std::size_t{channels} * shape.positions * number_bytes(precision), [=] {
            return pack_norm(on_gpu, precision, pad_channels(values, 1, shape.channels, shape.positions));
        });
    };
    const CudaWeights packed_gamma = pack(gamma);
    return make_cuda_layer<NormReluPool>(io_shape(on_gpu, precision), on_gpu, precision, packed_gamma, pack(beta));
}

}  // namespace sluice
