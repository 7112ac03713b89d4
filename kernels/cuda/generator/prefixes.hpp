#pragma once

#include <array>
#include <cstdint>

#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/generator/steps.hpp"

namespace sluice::generator {

/// Precomputed starts of texts: states and distributions after the same first bytes, computed by the steps themselves,
/// so that no bit of a text changes. A text takes as many bytes from tables as there are tables.
class Prefixes {
public:
    /// Makes `tables`, at least 1, for prefixes of 0, 1, ... bytes, and enters them in `memory`, which is otherwise
    /// complete. Blocks until done; leaves `steps` with arbitrary states.
    Prefixes(Device& device, const Sampling& sampling, std::uint32_t tables, Steps& steps, Memory& memory);

    /// Number of tables that pays for chunks of up to `most_items` texts of at most max_length bytes.
    [[nodiscard]] static std::uint32_t choose_tables(std::uint32_t most_items, const Sampling& sampling);

    [[nodiscard]] static std::uint64_t bytes(std::uint32_t tables, const StepSizes& sizes);

private:
    std::array<Buffer, most_prefix_tables> distributions_{};
    Buffer states_;
};

}  // namespace sluice::generator
