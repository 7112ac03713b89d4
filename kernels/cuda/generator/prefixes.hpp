#pragma once

#include <array>
#include <cstdint>

#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/generator/steps.hpp"

namespace sluice::generator {

/// What all texts with the same first bytes share, made by the steps themselves, so that it changes no bit of a text:
/// a text begins with as many bytes drawn from tables as there are tables.
class Prefixes {
public:
    /// Makes `tables`, at least 1, of prefixes of 0, 1, ... bytes, and puts them into `memory`, whose other parts are
    /// there. Done when this returns; leaves the states of `steps` as they fall.
    Prefixes(Device& device, const Sampling& sampling, std::uint32_t tables, Steps& steps, Memory& memory);

    /// Tables that pay where chunks have up to `max_items` items, of texts of at most max_length.
    [[nodiscard]] static std::uint32_t choose_tables(std::uint32_t max_items, const Sampling& sampling);

    [[nodiscard]] static std::uint64_t bytes(std::uint32_t tables, const StepSizes& sizes);

private:
    std::array<Buffer, most_prefix_tables> distributions_{};
    Buffer states_;
};

}  // namespace sluice::generator
