#include "apps/gpt2/tensor_layout.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "apps/gpt2/tensors.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {

TensorLayout::TensorLayout(std::vector<TensorSpec> tensors, std::vector<FloatType> types)
    : tensors_(std::move(tensors)), types_(std::move(types)) {
    expects(types_.size() == tensors_.size(), "gpt2: a type for each tensor");
    std::size_t at = 0;
    for (std::size_t first = 0, end = 0; first < tensors_.size(); first = end) {
        for (end = first + 1; end < tensors_.size() && continues_matrix(tensors_[end]);) {
            ++end;
        }
        const auto of_matrix = std::span(types_).subspan(first, end - first);
        if (std::ranges::adjacent_find(of_matrix, std::not_equal_to()) != of_matrix.end()) {
            std::ranges::fill(of_matrix, FloatType::f32);
        }
        at = (at + sizeof(float) - 1) / sizeof(float) * sizeof(float);
        for (std::size_t i = first; i < end; ++i) {
            offsets_.push_back(at);
            at += bytes_of_tensor(i);
        }
    }
    offsets_.push_back(at);
}

std::size_t TensorLayout::bytes_of_tensor(std::size_t i) const {
    return static_cast<std::size_t>(tensors_[i].elements()) * bytes_of(types_[i]);
}

std::span<std::byte> TensorLayout::room(std::size_t i, std::span<std::byte> memory) const {
    return memory.subspan(offsets_.at(i), bytes_of_tensor(i));
}

WeightValues TensorLayout::values(std::size_t i, std::span<const std::byte> memory) const {
    return {types_.at(i), memory.subspan(offsets_.at(i), bytes_of_tensor(i))};
}

WeightValues TensorsInMemory::operator()(std::size_t count) {
    if (count == 0) {
        return {};
    }
    const WeightValues first = layout_.values(next_++, memory_);
    std::size_t bytes = first.bytes().size();
    for (; bytes < count * bytes_of(first.type()); ++next_) {
        const WeightValues next = layout_.values(next_, memory_);
        expects(next.type() == first.type() && next.bytes().data() == first.bytes().data() + bytes,
                "gpt2: parts of a matrix are adjacent and of one type");
        bytes += next.bytes().size();
    }
    expects(bytes == count * bytes_of(first.type()), "gpt2: a matrix of whole tensors");
    return {first.type(), {first.bytes().data(), bytes}};
}

}  // namespace sluice::gpt2
