#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/generator.hpp"

namespace sluice::generator {

/// Sizes as the kernels of a precision want them; what is added is zero.
struct PaddedShape {
    std::uint32_t embedding;
    std::uint32_t hidden;
    std::uint32_t layers;
    std::uint32_t gate_columns;  ///< At least 3 hidden: the gates r, z, n of all units after one another.
};

[[nodiscard]] PaddedShape padded(const GruShape& shape, Precision precision);

/// Bytes that a value of weights and states is kept in, and how many such.
[[nodiscard]] constexpr std::uint32_t parts_of_generator(Precision precision) {
    return precision == Precision::tf32 ? 2 : 1;
}

/// The network in device memory. By fp32 SIMT: matrices are (inputs, outputs), outputs of gates gate_columns of them.
/// For the tensor cores: (outputs, inputs), first parts before second ones, the rows of a matrix of gates in groups of
/// 64 units: 64 rows each of r, z and n.
struct WeightsOnDevice {
    struct Layer {
        Buffer input;  ///< Of layer 0 always fp32, (embedding, gate_columns).
        Buffer hidden;
        Buffer input_bias;   ///< (gate_columns) fp32; for the tensor cores of layer 0 only.
        Buffer hidden_bias;  ///< (gate_columns) fp32; for the tensor cores (4, hidden): r, z, n of the input, n.
    };
    Buffer embedding;  ///< (256, embedding) fp32
    std::vector<Layer> layers{};
    Buffer linear;       ///< 256 outputs
    Buffer linear_bias;  ///< (256) fp32
};

class GeneratorWeights {
public:
    /// `weights` stay the caller's until `packed` is packed.
    GeneratorWeights(const GruShape& shape, Precision precision, const GruWeights& weights, PackedWeights& packed);

    [[nodiscard]] WeightsOnDevice on(Device& device) const;

private:
    struct Layer {
        CudaWeights input;
        CudaWeights hidden;
        CudaWeights input_bias;
        CudaWeights hidden_bias;
    };

    CudaWeights embedding_;
    std::vector<Layer> layers_;
    CudaWeights linear_;
    CudaWeights linear_bias_;
};

}  // namespace sluice::generator
