#pragma once

#include <memory>
#include <span>

#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

// One file each; cuda_kernels() hands them out.
std::unique_ptr<Layer> make_cuda_symbol_conv(const SymbolConvShape& shape, Precision precision,
                                             std::span<const float> weights, std::span<const float> bias,
                                             std::span<const float> gamma, std::span<const float> beta,
                                             PackedWeights& packed);
std::unique_ptr<Layer> make_cuda_conv1d(const Conv1dShape& shape, Precision precision, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<Layer> make_cuda_norm_relu_pool(const NormShape& shape, Precision precision,
                                                std::span<const float> gamma, std::span<const float> beta,
                                                PackedWeights& packed);
std::unique_ptr<Layer> make_cuda_linear(const LinearShape& shape, Precision precision, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<Layer> make_cuda_classify(const ClassifyShape& shape, Precision precision,
                                          std::span<const float> weights, std::span<const float> bias,
                                          PackedWeights& packed);
std::unique_ptr<GeneratorLayer> make_cuda_gru_generator(const GruShape& shape, Precision precision,
                                                        const GruWeights& weights, const Sampling& sampling,
                                                        PackedWeights& packed);
std::unique_ptr<DecoderLayer> make_cuda_decoder(const DecoderShape& shape, Precision precision,
                                                const DecoderWeights& weights, const TokenSampling& sampling,
                                                PackedWeights& packed);
std::unique_ptr<TextCertifier> make_cuda_text_certifier(Device& device, const TextCertifierShape& shape,
                                                        TextWriter& exact);
std::unique_ptr<Certifier> make_cuda_certifier(Device& device, const CertifyShape& shape, Model& exact);

}  // namespace sluice
