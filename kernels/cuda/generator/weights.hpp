#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/generator.hpp"

namespace sluice::generator {

/// Sizes padded with zeros as a precision's kernels require.
struct PaddedShape {
    std::uint32_t embedding;
    std::uint32_t hidden;
    std::uint32_t layers;
    std::uint32_t gate_columns;  ///< At least 3 hidden: the gates r, z, n of all units in sequence.
};

[[nodiscard]] PaddedShape padded(const GruShape& shape, Precision precision);

/// Parts and bytes per part of weights and states, which are sums of their parts. tf32x3 is two parts in fp16: its
/// three significant products err no more than fp32 sums, at a third of fp16's speed.
[[nodiscard]] constexpr std::uint32_t parts_of_generator(Precision precision) {
    return precision == Precision::tf32x3 ? 2 : 1;
}
[[nodiscard]] constexpr std::uint32_t part_bytes_of_generator(Precision precision) {
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

/// The format of one part.
[[nodiscard]] constexpr Precision part_format_of_generator(Precision precision) {
    return precision == Precision::tf32x3 ? Precision::fp16 : precision;
}

/// Factor of weights stored in two parts: unscaled, their second parts would be too small for fp16.
inline constexpr float two_part_scale = 256;
/// By which sums of products of states and stored weights are multiplied.
[[nodiscard]] constexpr float sum_scale_of_generator(Precision precision) {
    return precision == Precision::tf32x3 ? 1 / two_part_scale : 1;
}

/// Calls use(part of the state, part of the weight) for the products of parts that count: all but that of two second
/// parts, which no precision keeps.
template <class Use>
void for_each_product_of_parts(Precision precision, const Use& use) {
    const std::uint32_t parts = parts_of_generator(precision);
    for (std::uint32_t of_state = 0; of_state < parts; ++of_state) {
        for (std::uint32_t of_weight = 0; of_state + of_weight < parts; ++of_weight) {
            use(of_state, of_weight);
        }
    }
}

/// The network in device memory. For fp32 SIMT: matrices are (inputs, outputs), those of gates with gate_columns
/// outputs. For the tensor cores: (outputs, inputs), first parts before second ones; the rows of a matrix of gates in
/// groups of 64 units: 64 rows each of r, z and n, in the order of unit_of_column(); those of `linear` in the order of
/// score_of_column().
struct WeightsOnDevice {
    struct Layer {
        Buffer input;  ///< In layer 0 always fp32, (embedding, gate_columns).
        Buffer hidden;
        Buffer input_bias;   ///< (gate_columns) fp32; for the tensor cores, added in layer 0's table: r and z of both
                             ///< biases, n of the input's.
        Buffer hidden_bias;  ///< (gate_columns) fp32; for the tensor cores (4, hidden): r, z, n of the input, n of the
                             ///< state.
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
