#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "core/input/number_type.hpp"

namespace sluice {

/// Values of a tensor as they lie in memory, fp32 or 16 bits each, read as fp32, which is exact. Not owned, and not
/// necessarily aligned.
class WeightValues {
public:
    WeightValues() = default;

    template <std::convertible_to<std::span<const float>> Floats>
    WeightValues(const Floats& floats) noexcept  // NOLINT(google-explicit-constructor): most values are floats
        : bytes_(std::as_bytes(std::span<const float>(floats))) {}

    /// `bytes` are whole values.
    WeightValues(FloatType type, std::span<const std::byte> bytes) noexcept : type_(type), bytes_(bytes) {}

    [[nodiscard]] FloatType type() const noexcept { return type_; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / bytes_of(type_); }
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

    [[nodiscard]] WeightValues subspan(std::size_t first, std::size_t count) const {
        return {type_, bytes_.subspan(first * bytes_of(type_), count * bytes_of(type_))};
    }

    /// Reads size() values.
    void read(float* to) const noexcept { widen(type_, bytes_, {to, size()}); }
    [[nodiscard]] std::vector<float> floats() const {
        std::vector<float> values(size());
        read(values.data());
        return values;
    }

    [[nodiscard]] float operator[](std::size_t i) const {
        float value = 0;
        if (type_ == FloatType::f32) {
            std::memcpy(&value, &bytes_[i * sizeof value], sizeof value);
        } else {
            subspan(i, 1).read(&value);
        }
        return value;
    }

private:
    FloatType type_ = FloatType::f32;
    std::span<const std::byte> bytes_{};
};

}  // namespace sluice
