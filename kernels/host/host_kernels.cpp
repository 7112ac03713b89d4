#include "kernels/host/host_kernels.hpp"

#include "core/error.hpp"

namespace sluice {
namespace {

class HostConvolution final : public ConvolutionKernels {
public:
    explicit HostConvolution(Precision precision) : precision_(precision) {}

    std::unique_ptr<Layer> symbol_conv_norm_relu_pool(const SymbolConvShape& shape, std::span<const float> weights,
                                                      std::span<const float> bias, std::span<const float> gamma,
                                                      std::span<const float> beta,
                                                      PackedWeights& packed) const override {
        return make_host_symbol_conv(shape, weights, bias, gamma, beta, packed);
    }
    std::unique_ptr<Layer> conv1d(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return precision_ == Precision::bf16 ? make_tile_conv1d(shape, weights, bias, packed)
                                             : make_host_conv1d(shape, weights, bias, packed);
    }
    std::unique_ptr<Layer> norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                          std::span<const float> beta, PackedWeights& packed) const override {
        return make_host_norm_relu_pool(shape, gamma, beta, packed);
    }

private:
    Precision precision_;
};

class HostDense final : public DenseKernels {
public:
    explicit HostDense(Precision precision) : precision_(precision) {}

    std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_host_linear(precision_, shape, weights, bias, packed);
    }
    std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                    std::span<const float> bias, PackedWeights& packed) const override {
        return make_host_classify(precision_, shape, weights, bias, packed);
    }

private:
    Precision precision_;
};

class NoCertifier final : public CertifierKernels {
public:
    std::unique_ptr<Certifier> make_certifier(Device&, const CertifyShape&, Model&) const override {
        throw ContractViolation("the host computes exactly: there is nothing to certify");
    }
    std::unique_ptr<TextCertifier> make_text_certifier(Device&, const TextCertifierShape&, TextWriter&) const override {
        throw ContractViolation("the host computes exactly: there is nothing to certify");
    }
};

class HostGenerators final : public GeneratorKernels {
public:
    explicit HostGenerators(Precision precision) : precision_(precision) {}

    std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                                        PackedWeights& packed) const override {
        return make_host_gru_generator(precision_, shape, weights, sampling, packed);
    }

private:
    Precision precision_;
};

class HostDecoders final : public DecoderKernels {
public:
    explicit HostDecoders(Precision precision) : precision_(precision) {}

    std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape, const DecoderWeights& weights,
                                          const TokenSampling& sampling, PackedWeights& packed) const override {
        return make_host_decoder(precision_, shape, weights, sampling, packed);
    }

private:
    Precision precision_;
};

/// All families in one precision.
struct HostFamilies {
    explicit HostFamilies(Precision precision)
        : convolution(precision), dense(precision), generators(precision), decoders(precision) {}

    HostConvolution convolution;
    HostDense dense;
    NoCertifier certifier;
    HostGenerators generators;
    HostDecoders decoders;
    Kernels kernels{convolution, dense, certifier};
};

const HostFamilies& families_in(Precision precision) {
    expects(precision == Precision::fp32 || precision == Precision::bf16,
            "the host's kernels compute in fp32 and bf16");
    static const HostFamilies fp32(Precision::fp32);
    static const HostFamilies bf16(Precision::bf16);
    return precision == Precision::fp32 ? fp32 : bf16;
}

}  // namespace

const Kernels& host_kernels(Precision precision) {
    return families_in(precision).kernels;
}

const GeneratorKernels& host_generator_kernels(Precision precision) {
    return families_in(precision).generators;
}

const DecoderKernels& host_decoder_kernels(Precision precision) {
    return families_in(precision).decoders;
}

}  // namespace sluice
