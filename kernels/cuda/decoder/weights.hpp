#pragma once

#include <optional>
#include <vector>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/decoder.hpp"

namespace sluice::decoder {

/// The decoder in device memory. Matrices of fp32 are (inputs, outputs), both padded with zeros; others
/// (outputs, inputs), of tf32x3 (outputs, 2, inputs) in two parts of fp16 (half_values.hpp). In bf16 and fp16 the
/// normalisations of blocks are part of the products behind them: (x - mean) / deviation * gamma * w + beta * w
/// is x * v / deviation + c, where v is gamma * w less its mean over the inputs, and c belongs to the bias. The
/// products have 1 / deviation as their row_scales, and there is no Norm.
struct WeightsOnDevice {
    struct Norm {
        Buffer gamma;  ///< fp32
        Buffer beta;   ///< fp32
    };
    struct Linear {
        Buffer weights;
        Buffer bias;  ///< fp32, padded
    };
    struct Block {
        Norm attention_norm;
        Linear attention;
        Linear projection;
        Norm inner_norm;
        Linear expansion;
        Linear contraction;
    };
    std::vector<Block> blocks{};
    Norm last_norm;
    Buffer tokens;     ///< As a matrix of outputs for each token.
    Buffer positions;  ///< (positions, width) fp32
};

class CudaDecoderWeights {
public:
    /// `weights` stay the caller's until `packed` is packed.
    CudaDecoderWeights(const DecoderShape& shape, Precision precision, const DecoderWeights& weights,
                       PackedWeights& packed);

    [[nodiscard]] WeightsOnDevice on(Device& device) const;

private:
    struct Norm {
        CudaWeights gamma;
        CudaWeights beta;
    };
    struct Linear {
        CudaWeights weights;
        CudaWeights bias;
    };
    struct Block {
        std::optional<Norm> attention_norm;
        Linear attention;
        Linear projection;
        std::optional<Norm> inner_norm;
        Linear expansion;
        Linear contraction;
    };

    [[nodiscard]] static WeightsOnDevice::Norm on(Device& device, const Norm& norm);
    [[nodiscard]] static WeightsOnDevice::Linear on(Device& device, const Linear& linear);

    std::vector<Block> blocks_;
    Norm last_norm_;
    CudaWeights tokens_;
    CudaWeights positions_;
};

}  // namespace sluice::decoder
