#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/app.hpp"
#include "core/input/tensor_file.hpp"

namespace sluice {

/// What may differ from one classifier to another; a weights file's tensors say it.
struct ClassifierSizes {
    std::uint32_t channels = 256;  ///< Of every convolution; a multiple of 64.
    std::uint32_t hidden = 1024;   ///< Outputs of fc1 and fc2.

    bool operator==(const ClassifierSizes&) const = default;
};

/// The classifier's tensors, in the order of the raw file and of the weight blob. Convolutions are (out, in, tap),
/// linear layers (out, in), norms (channel, position). docs/classifier.md.
[[nodiscard]] std::vector<TensorSpec> classifier_tensors(const ClassifierSizes& sizes = {});

/// Floats of all tensors: 11,908,100 of the paper's sizes.
[[nodiscard]] std::size_t classifier_weight_count(const ClassifierSizes& sizes = {});

/// A look at a WeightBlob of the classifier's, which holds the tensors and behind them their sizes.
class ClassifierWeights {
public:
    /// `blob` stays. Throws ContractViolation when it is none of the classifier's.
    explicit ClassifierWeights(const WeightBlob& blob);

    [[nodiscard]] const ClassifierSizes& sizes() const noexcept { return sizes_; }
    [[nodiscard]] std::span<float> values() const noexcept { return values_; }

    /// Throws ContractViolation: none of that name.
    [[nodiscard]] std::span<const float> tensor(std::string_view name) const;

private:
    ClassifierSizes sizes_;
    std::span<float> values_;
};

/// From a safetensors file, whose tensors give the sizes, or from a headerless one of the paper's sizes. Throws Error
/// (bad_data, no_input, numeric).
[[nodiscard]] WeightBlob read_classifier_weights(const std::filesystem::path& path);

/// The classes' names that a weights file has in its metadata, key "labels", a JSON list. Throws Error (bad_data,
/// no_input), also when it has none.
[[nodiscard]] std::vector<std::string> read_class_names(const std::filesystem::path& path);

/// Weights of the paper's sizes drawn from `seed`: the same bits everywhere, spread so that labels vary over text.
[[nodiscard]] WeightBlob random_classifier_weights(std::uint64_t seed);

}  // namespace sluice
