#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "apps/gpt2/config.hpp"
#include "core/input/tensor_file.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// Every tensor of a GPT-2, in the order in which a WeightBlob has them and the headerless file too: blocks sorted by
/// their number's text, in each the biases before the weights. Linear weights are (inputs, outputs).
[[nodiscard]] std::vector<TensorSpec> gpt2_tensors(const DecoderShape& shape);
[[nodiscard]] DecoderWeights gpt2_weights(const DecoderShape& shape, std::span<const float> tensors);

/// Every tensor of one of Family::llama, in the order of a WeightBlob: what makes one matrix lies together. Linear
/// weights are (outputs, inputs).
[[nodiscard]] std::vector<TensorSpec> llama_tensors(const Config& config);
[[nodiscard]] DecoderWeights llama_weights(const Config& config, std::span<const float> tensors);

/// Tensors that lie one behind the other.
class TensorsInOrder {
public:
    explicit TensorsInOrder(std::span<const float> tensors) : left_(tensors) {}

    [[nodiscard]] std::span<const float> operator()(std::size_t count) {
        const std::span<const float> tensor = left_.first(count);
        left_ = left_.subspan(count);
        return tensor;
    }

private:
    std::span<const float> left_;
};

}  // namespace sluice::gpt2
