#include "kernels/host/host_kernels.hpp"

#include "core/error.hpp"

namespace sluice {
namespace {

class HostConvolution final : public ConvolutionKernels {
public:
    std::unique_ptr<Layer> symbol_conv_norm_relu_pool(const SymbolConvShape& shape, std::span<const float> weights,
                                                      std::span<const float> bias, std::span<const float> gamma,
                                                      std::span<const float> beta,
                                                      PackedWeights& packed) const override {
        return make_host_symbol_conv(shape, weights, bias, gamma, beta, packed);
    }
    std::unique_ptr<Layer> conv1d(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_host_conv1d(shape, weights, bias, packed);
    }
    std::unique_ptr<Layer> norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                          std::span<const float> beta, PackedWeights& packed) const override {
        return make_host_norm_relu_pool(shape, gamma, beta, packed);
    }
};

class HostDense final : public DenseKernels {
public:
    std::unique_ptr<Layer> linear(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                                  PackedWeights& packed) const override {
        return make_host_linear(shape, weights, bias, packed);
    }
    std::unique_ptr<Layer> classify(const ClassifyShape& shape, std::span<const float> weights,
                                    std::span<const float> bias, PackedWeights& packed) const override {
        return make_host_classify(shape, weights, bias, packed);
    }
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
    std::unique_ptr<GeneratorLayer> gru(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                                        PackedWeights& packed) const override {
        return make_host_gru_generator(shape, weights, sampling, packed);
    }
};

class HostDecoders final : public DecoderKernels {
public:
    std::unique_ptr<DecoderLayer> decoder(const DecoderShape& shape, const DecoderWeights& weights,
                                          const TokenSampling& sampling, PackedWeights& packed) const override {
        return make_host_decoder(shape, weights, sampling, packed);
    }
};

}  // namespace

const Kernels& host_kernels() {
    static const HostConvolution convolution;
    static const HostDense dense;
    static const NoCertifier certifier;
    static const Kernels kernels{convolution, dense, certifier};
    return kernels;
}

const GeneratorKernels& host_generator_kernels() {
    static const HostGenerators generators;
    return generators;
}

const DecoderKernels& host_decoder_kernels() {
    static const HostDecoders decoders;
    return decoders;
}

}  // namespace sluice
