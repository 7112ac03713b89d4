#include "kernels/cuda_kernels.hpp"

#include "core/error.hpp"
#include "kernels/cuda/cuda_layers.hpp"

namespace sluice {
namespace {

class CudaConvolution final : public ConvolutionKernels {
public:
    explicit CudaConvolution(Precision precision) noexcept : precision_(precision) {}

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

private:
    Precision precision_;
};

class CudaDense final : public DenseKernels {
public:
    explicit CudaDense(Precision precision) noexcept : precision_(in_one_part(precision)) {}

    std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_cuda_linear(shape, precision_, weights, bias, packed);
    }
    std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                    std::span<const float> bias, PackedWeights& packed) const override {
        return make_cuda_classify(shape, precision_, weights, bias, packed);
    }

private:
    Precision precision_;
};

class CudaCertifiers final : public CertifierKernels {
public:
    std::unique_ptr<Certifier> make_certifier(Device& device, const CertifyShape& shape, Model& exact) const override {
        return make_cuda_certifier(device, shape, exact);
    }
};

class CudaGenerators final : public GeneratorKernels {
public:
    explicit CudaGenerators(Precision precision) noexcept : precision_(precision) {}

    std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                                        PackedWeights& packed) const override {
        return make_cuda_gru_generator(shape, precision_, weights, sampling, packed);
    }
    std::unique_ptr<TextCertifier> make_text_certifier(Device& device, const TextCertifierShape& shape,
                                                       Generator& exact) const override {
        return make_cuda_text_certifier(device, shape, exact);
    }

private:
    Precision precision_;
};

class CudaDecoders final : public DecoderKernels {
public:
    explicit CudaDecoders(Precision precision) noexcept : precision_(precision) {}

    std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape, const DecoderWeights& weights,
                                          const TokenSampling& sampling, PackedWeights& packed) const override {
        return make_cuda_decoder(shape, precision_, weights, sampling, packed);
    }

private:
    Precision precision_;
};

/// All families in one precision.
struct Backend {
    explicit Backend(Precision precision) noexcept : convolution(precision), dense(precision) {}

    CudaConvolution convolution;
    CudaDense dense;
    CudaCertifiers certifier;
    Kernels kernels{convolution, dense, certifier};
};

}  // namespace

const Kernels& cuda_kernels(Precision precision) {
    static const Backend fp32(Precision::fp32);
    static const Backend tf32x3(Precision::tf32x3);
    static const Backend tf32(Precision::tf32);
    static const Backend bf16(Precision::bf16);
    static const Backend fp16(Precision::fp16);
    switch (precision) {
        case Precision::fp32:
            return fp32.kernels;
        case Precision::tf32x3:
            return tf32x3.kernels;
        case Precision::tf32:
            return tf32.kernels;
        case Precision::bf16:
            return bf16.kernels;
        case Precision::fp16:
            return fp16.kernels;
        case Precision::certified:
            break;
    }
    throw ContractViolation("certified is three precisions, not one of a kernel");
}

const GeneratorKernels& cuda_generator_kernels(Precision precision) {
    static const CudaGenerators fp32(Precision::fp32);
    static const CudaGenerators tf32x3(Precision::tf32x3);
    static const CudaGenerators tf32(Precision::tf32);
    static const CudaGenerators bf16(Precision::bf16);
    static const CudaGenerators fp16(Precision::fp16);
    switch (precision) {
        case Precision::tf32x3:
            return tf32x3;
        case Precision::tf32:
            return tf32;
        case Precision::bf16:
            return bf16;
        case Precision::fp16:
            return fp16;
        default:
            return fp32;
    }
}

const DecoderKernels& cuda_decoder_kernels(Precision precision) {
    static const CudaDecoders fp32(Precision::fp32);
    static const CudaDecoders tf32x3(Precision::tf32x3);
    static const CudaDecoders tf32(Precision::tf32);
    static const CudaDecoders bf16(Precision::bf16);
    static const CudaDecoders fp16(Precision::fp16);
    switch (precision) {
        case Precision::tf32x3:
            return tf32x3;
        case Precision::tf32:
            return tf32;
        case Precision::bf16:
            return bf16;
        case Precision::fp16:
            return fp16;
        default:
            return fp32;
    }
}

}  // namespace sluice
