#include "kernels/cuda_kernels.hpp"

#include "core/error.hpp"
#include "kernels/cuda/cuda_layers.hpp"

namespace sluice {
namespace {

class CudaKernels final : public Kernels {
public:
    explicit CudaKernels(Precision precision) noexcept : precision_(precision) {}

    std::unique_ptr<Layer> symbol_conv_norm_relu_pool(const SymbolConvShape& shape, std::span<const float> weights,
                                                      std::span<const float> bias, std::span<const float> gamma,
                                                      std::span<const float> beta,
                                                      PackedWeights& packed) const override {
        return make_cuda_symbol_conv(shape, precision_, weights, bias, gamma, beta, packed);
    }
    std::unique_ptr<Layer> conv1d(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_cuda_conv1d(shape, precision_, weights, bias, packed);
    }
    std::unique_ptr<Layer> norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                          std::span<const float> beta, PackedWeights& packed) const override {
        return make_cuda_norm_relu_pool(shape, precision_, gamma, beta, packed);
    }
    std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_cuda_linear(shape, in_one_part(precision_), weights, bias, packed);
    }
    std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                    std::span<const float> bias, PackedWeights& packed) const override {
        return make_cuda_classify(shape, in_one_part(precision_), weights, bias, packed);
    }
    std::unique_ptr<Certifier> make_certifier(Device& device, const CertifyShape& shape, Model& exact) const override {
        return make_cuda_certifier(device, shape, exact);
    }

private:
    Precision precision_;
};

}  // namespace

const Kernels& cuda_kernels(Precision precision) {
    static const CudaKernels fp32(Precision::fp32);
    static const CudaKernels tf32x3(Precision::tf32x3);
    static const CudaKernels tf32(Precision::tf32);
    static const CudaKernels bf16(Precision::bf16);
    static const CudaKernels fp16(Precision::fp16);
    switch (precision) {
        case Precision::fp32:
            return fp32;
        case Precision::tf32x3:
            return tf32x3;
        case Precision::tf32:
            return tf32;
        case Precision::bf16:
            return bf16;
        case Precision::fp16:
            return fp16;
        case Precision::certified:
            break;
    }
    throw ContractViolation("certified is three precisions, not one of a kernel");
}

}  // namespace sluice
