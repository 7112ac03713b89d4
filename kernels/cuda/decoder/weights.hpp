#pragma once

#include <optional>
#include <vector>

#include "core/device.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/decoder.hpp"

namespace sluice::decoder {

/// The decoder in device memory. Matrices of fp32 are (inputs, outputs), both padded with zeros; others (outputs,
/// inputs), for tf32x3 and fp16x2 (outputs, 2 inputs) of 16 bits, in parts (half_values.hpp). In bf16 and fp16 the
/// normalisations of blocks are folded into the products after them: (x - mean) / deviation * gamma * w + beta * w is x
/// * v / deviation + c, where v is gamma * w less its mean over the inputs (not with RMS), and c is part of the bias.
/// The products scale rows by 1 / deviation, and there is no Norm.
///
/// In fp8 all is as in bf16, but for the matrices of attention, expansion and, if contracts_codes(), contraction. These
/// are in e4m3, times the greatest power of two by which none is above 448. Factors of rows are e4m3, too: normalised
/// rows times normed_code_scale(), and the contraction's inputs times a power of two by which none can be above 448,
/// whatever the text, but for what rounding adds.
struct WeightsOnDevice {
    struct Norm {
        Buffer gamma;  ///< fp32
        Buffer beta;   ///< fp32
    };
    struct Linear {
        Buffer weights;
        Buffer bias;  ///< fp32, padded

        /// Of e4m3: what sums are multiplied by.
        [[nodiscard]] const float* sum_scale() const { return scales(); }
        /// Of an expansion in e4m3: what its results are multiplied by before they are rounded.
        [[nodiscard]] const float* result_scale() const { return scales() + 1; }

    private:
        /// They are behind the matrix.
        [[nodiscard]] const float* scales() const {
            return reinterpret_cast<const float*>(weights.bytes().data() + weights.bytes().size()) - 2;
        }
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
    Buffer tokens;     ///< As a matrix with an output for each token.
    Buffer own_head;   ///< The same for the last product; empty: it uses `tokens`.
    Buffer positions;  ///< (positions, width) fp32; one row that adds nothing if they are rotary.
    Buffer angles;     ///< rotary_table(); empty if positions are not rotary.

    [[nodiscard]] const Buffer& head() const { return own_head.bytes().empty() ? tokens : own_head; }
};

/// Normalised rows in e4m3 are multiplied by it. None of their values is above the root of the width.
[[nodiscard]] float normed_code_scale(std::uint32_t width);

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
    std::optional<CudaWeights> own_head_;
    CudaWeights positions_;
    std::optional<CudaWeights> angles_;
};

}  // namespace sluice::decoder
