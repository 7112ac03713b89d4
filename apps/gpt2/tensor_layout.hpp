#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/input/number_type.hpp"
#include "core/weights/tensor_file.hpp"
#include "core/weights/weight_values.hpp"

namespace sluice::gpt2 {

/// Where the tensors of a model lie in memory: one behind the other, each in its own type. Those that are one matrix,
/// or one bias, are all in one type, fp32 if their own ones differ, and adjacent.
class TensorLayout {
public:
    /// `types`: of each tensor in its file.
    TensorLayout(std::vector<TensorSpec> tensors, std::vector<FloatType> types);

    [[nodiscard]] std::span<const TensorSpec> tensors() const noexcept { return tensors_; }
    [[nodiscard]] std::span<const FloatType> types() const noexcept { return types_; }  ///< In memory.

    /// Of all tensors.
    [[nodiscard]] std::size_t bytes() const noexcept { return offsets_.back(); }

    /// The part of `memory`, bytes() long, for tensor `i`.
    [[nodiscard]] std::span<std::byte> room(std::size_t i, std::span<std::byte> memory) const;
    [[nodiscard]] WeightValues values(std::size_t i, std::span<const std::byte> memory) const;

private:
    [[nodiscard]] std::size_t bytes_of_tensor(std::size_t i) const;

    std::vector<TensorSpec> tensors_;
    std::vector<FloatType> types_;
    std::vector<std::size_t> offsets_;  // and the end
};

/// Takes the tensors of a layout in their order.
class TensorsInMemory {
public:
    /// Both outlive this object, and the memory what it returns.
    TensorsInMemory(const TensorLayout& layout, std::span<const std::byte> memory) : layout_(layout), memory_(memory) {}

    /// The next `count` values: none, a tensor, or all tensors of a matrix or of its bias.
    [[nodiscard]] WeightValues operator()(std::size_t count);

private:
    const TensorLayout& layout_;
    std::span<const std::byte> memory_;
    std::size_t next_ = 0;
};

}  // namespace sluice::gpt2
