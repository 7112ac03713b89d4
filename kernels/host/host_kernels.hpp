#pragma once

#include "kernels/kernels.hpp"

namespace sluice {

/// The CPU's operations in `precision`, fp32 or, after limit_host_instructions(amx), bf16; single-threaded on the
/// worker of a HostStream. conv1d uses oneDNN in fp32.
[[nodiscard]] const Kernels& host_kernels(Precision precision);
[[nodiscard]] const GeneratorKernels& host_generator_kernels(Precision precision);
[[nodiscard]] const DecoderKernels& host_decoder_kernels(Precision precision);

// One file each; host_kernels() hands them out.
std::unique_ptr<Layer> make_host_symbol_conv(const SymbolConvShape& shape, std::span<const float> weights,
                                             std::span<const float> bias, std::span<const float> gamma,
                                             std::span<const float> beta, PackedWeights& packed);
std::unique_ptr<Layer> make_host_conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<Layer> make_tile_conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<Layer> make_host_norm_relu_pool(const NormShape& shape, std::span<const float> gamma,
                                                std::span<const float> beta, PackedWeights& packed);
std::unique_ptr<Layer> make_host_linear(Precision precision, const LinearShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed);
std::unique_ptr<GeneratorLayer> make_host_gru_generator(Precision precision, const GruShape& shape,
                                                        const GruWeights& weights, const Sampling& sampling,
                                                        PackedWeights& packed);
std::unique_ptr<DecoderLayer> make_host_decoder(Precision precision, const DecoderShape& shape,
                                                const DecoderWeights& weights, const TokenSampling& sampling,
                                                PackedWeights& packed);
std::unique_ptr<Layer> make_host_classify(Precision precision, const ClassifyShape& shape,
                                          std::span<const float> weights, std::span<const float> bias,
                                          PackedWeights& packed);

/// Bytes of a convolution's items.
[[nodiscard]] IoShape conv1d_io(const Conv1dShape& shape);

/// Throws ContractViolation unless they fit.
void check_conv1d(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias);

}  // namespace sluice
