#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/classifier/classifier_network.hpp"
#include "core/app.hpp"
#include "core/weights/tensor_file.hpp"

namespace sluice::classifier {

/// The classifier's tensors, in the order of the raw file and of the weight blob. Convolutions are (out, in, tap),
/// linear layers (out, in), norms (channel, position). docs/classifier.md.
[[nodiscard]] std::vector<TensorSpec> classifier_tensors(const ClassifierSizes& sizes = {});

/// Number of floats of all tensors: 11,908,100 for the paper's sizes.
[[nodiscard]] std::size_t classifier_weight_count(const ClassifierSizes& sizes = {});

/// View of a classifier's WeightBlob, which holds the tensors followed by their sizes.
class ClassifierWeights {
public:
    /// `blob` outlives the view. Throws ContractViolation if it is not a classifier's.
    explicit ClassifierWeights(const WeightBlob& blob);

    [[nodiscard]] const ClassifierSizes& sizes() const noexcept { return sizes_; }
    [[nodiscard]] std::span<float> values() const noexcept { return values_; }

    /// Throws ContractViolation if there is no tensor of that name.
    [[nodiscard]] std::span<const float> tensor(std::string_view name) const;

private:
    ClassifierSizes sizes_;
    std::span<float> values_;
};

/// Reads a safetensors file, whose tensors determine the sizes, or a headerless file of the paper's sizes. Throws Error
/// (bad_data, no_input, numeric).
[[nodiscard]] WeightBlob read_classifier_weights(const std::filesystem::path& path);

/// Names of the classes in a weights file's metadata: key "labels", a JSON list. Throws Error (bad_data, no_input),
/// also if there are none.
[[nodiscard]] std::vector<std::string> read_class_names(const std::filesystem::path& path);

/// Random weights of the paper's sizes, generated from `seed`: equal bits everywhere, scaled so that labels vary.
[[nodiscard]] WeightBlob random_classifier_weights(std::uint64_t seed);

}  // namespace sluice::classifier
