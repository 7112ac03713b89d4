#pragma once

#include <array>
#include <cstdint>

#include "core/device.hpp"
#include "kernels/cuda/generator/batch.hpp"

namespace sluice::generator {

/// Owns the states before and after a step, which take turns. Initially zeros.
class StepStates {
public:
    StepStates(Device& device, std::uint32_t matrices, std::uint32_t rows, std::uint32_t row_bytes) {
        for (std::uint32_t turn = 0; turn < 2; ++turn) {
            states_[turn] = {.matrices = matrices, .rows = rows, .row_bytes = row_bytes};
            memory_[turn] = device.allocate(MemorySpace::device, states_[turn].bytes());
            states_[turn].data = memory_[turn].bytes().data();
        }
    }

    [[nodiscard]] const StateRows& operator[](std::uint32_t turn) const { return states_[turn]; }

private:
    std::array<Buffer, 2> memory_{};
    std::array<StateRows, 2> states_{};
};

}  // namespace sluice::generator
