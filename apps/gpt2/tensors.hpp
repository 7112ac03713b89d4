#pragma once

#include <vector>

#include "apps/gpt2/config.hpp"
#include "apps/gpt2/tensor_layout.hpp"
#include "core/weights/tensor_file.hpp"
#include "kernels/decoder.hpp"

namespace sluice::gpt2 {

/// All tensors of a GPT-2, in the order of its WeightBlob and of the headerless file: blocks sorted by their number as
/// text, biases before weights in each. Linear weights are (inputs, outputs).
[[nodiscard]] std::vector<TensorSpec> gpt2_tensors(const DecoderShape& shape);
[[nodiscard]] DecoderWeights gpt2_weights(const DecoderShape& shape, TensorsInMemory take);

/// All tensors of a model of Family::llama, in the order of its WeightBlob: parts of one matrix are adjacent. Linear
/// weights are (outputs, inputs).
[[nodiscard]] std::vector<TensorSpec> llama_tensors(const Config& config);
[[nodiscard]] DecoderWeights llama_weights(const Config& config, TensorsInMemory take);

/// Whether a tensor is the rest of the matrix, or of the bias, that the one before it begins.
[[nodiscard]] bool continues_matrix(const TensorSpec& tensor);

}  // namespace sluice::gpt2
