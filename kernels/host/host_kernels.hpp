#pragma once

#include "kernels/kernels.hpp"

namespace sluice {

/// The CPU's operations, single-threaded on the worker of a HostStream. conv1d uses oneDNN.
[[nodiscard]] const Kernels& host_kernels();
[[nodiscard]] const GeneratorKernels& host_generator_kernels();
[[nodiscard]] const DecoderKernels& host_decoder_kernels();

// One file each; host_kernels() hands them out.
std::unique_ptr<Layer> make_host_symbol_conv(const SymbolConvShape& shape, std::span<const float> weights,
                                             std::span<const float> bias, std::span<const float> gamma,
                                             std::span<const float> beta, PackedWeights& packed);
std::unique_ptr<Layer> make_host_conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<Layer> make_host_norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                                std::span<const float> beta, PackedWeights& packed);
std::unique_ptr<Layer> make_host_linear(const LinearShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<GeneratorLayer> make_host_gru_generator(const GruShape& shape, const GruWeights& weights,
                                                        const Sampling& sampling, PackedWeights& packed);
std::unique_ptr<DecoderLayer> make_host_decoder(const DecoderShape& shape, const DecoderWeights& weights,
                                                const TokenSampling& sampling, PackedWeights& packed);
std::unique_ptr<Layer> make_host_classify(const ClassifyShape& shape, std::span<const float> weights,
                                          std::span<const float> bias, PackedWeights& packed);

}  // namespace sluice
