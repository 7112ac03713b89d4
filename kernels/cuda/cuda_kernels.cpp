#include "kernels/cuda_kernels.hpp"

#include <string>

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
    std::unique_ptr<TextCertifier> make_text_certifier(Device& device, const TextCertifierShape& shape,
                                                       TextWriter& exact) const override {
        return make_cuda_text_certifier(device, shape, exact);
    }
};

class CudaGenerators final : public GeneratorKernels {
public:
    explicit CudaGenerators(Precision precision) noexcept : precision_(precision) {}

    std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                                        PackedWeights& packed) const override {
        return make_cuda_gru_generator(shape, precision_, weights, sampling, packed);
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

/// What cuda_kernels() hands out, in one precision.
class CudaFamilies {
public:
    explicit CudaFamilies(Precision precision) noexcept : convolution_(precision), dense_(precision) {}

    [[nodiscard]] const Kernels& kernels() const noexcept { return kernels_; }

private:
    CudaConvolution convolution_;
    CudaDense dense_;
    CudaCertifiers certifiers_;
    Kernels kernels_{convolution_, dense_, certifiers_};
};

/// The Family of a precision. All are made at the first call, and stay until the program ends.
template <class Family>
const Family& in_precision(Precision precision) {
    static const Family fp32(Precision::fp32);
    static const Family tf32x3(Precision::tf32x3);
    static const Family tf32(Precision::tf32);
    static const Family bf16(Precision::bf16);
    static const Family fp16(Precision::fp16);
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
        case Precision::fp8:
        case Precision::fp16x2:
            break;
    }
    throw ContractViolation("no precision of these kernels: " + std::string(name_of(precision)));
}

}  // namespace

const Kernels& cuda_kernels(Precision precision) {
    return in_precision<CudaFamilies>(precision).kernels();
}

const GeneratorKernels& cuda_generator_kernels(Precision precision) {
    return in_precision<CudaGenerators>(precision);
}

const DecoderKernels& cuda_decoder_kernels(Precision precision) {
    static const CudaDecoders fp8(Precision::fp8);
    static const CudaDecoders fp16x2(Precision::fp16x2);
    return precision == Precision::fp8      ? fp8
           : precision == Precision::fp16x2 ? fp16x2
                                            : in_precision<CudaDecoders>(precision);
}

}  // namespace sluice
