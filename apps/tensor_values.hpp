#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/sync/work_team.hpp"

namespace sluice {

/// Takes tensors that lie one behind the other in a WeightBlob.
template <class Value>
class TensorsInOrder {
public:
    explicit TensorsInOrder(std::span<Value> tensors) : left_(tensors) {}

    /// The next `count` values.
    [[nodiscard]] std::span<Value> operator()(std::size_t count) {
        const std::span<Value> tensor = left_.first(count);
        left_ = left_.subspan(count);
        return tensor;
    }

private:
    std::span<Value> left_;
};

/// Sets value i of `tensor` to value_of(i), by all threads of `team`, in any order.
template <class ValueOf>
void draw_values(WorkTeam& team, std::span<float> tensor, const ValueOf& value_of) {
    constexpr std::size_t piece = 16'384;
    const auto draw = [&](std::uint32_t number) {
        const std::size_t first = number * piece;
        for (std::size_t i = first; i < std::min(first + piece, tensor.size()); ++i) {
            tensor[i] = value_of(i);
        }
    };
    team.run(static_cast<std::uint32_t>((tensor.size() + piece - 1) / piece), draw);
}

}  // namespace sluice
