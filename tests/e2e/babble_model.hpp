#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/model.hpp"
#include "tests/e2e/babble.hpp"

namespace sluice::test {

/// A text so far, on the wire and while it grows; letters by their numbers.
struct BabbleItem {
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    std::uint8_t letters[longest_babble] = {};
};

struct BabbleRecord {
    std::uint32_t length = 0;
    std::uint8_t letters[longest_babble] = {};
};

inline constexpr IoShape babble_shape{sizeof(BabbleItem), sizeof(BabbleRecord)};
inline constexpr std::uint32_t babble_lag = 2;

// Models that keep a few rows, each of which takes the next item as soon as its own text has ended, whichever chunk
// that is of.

[[nodiscard]] std::unique_ptr<Model> make_host_babble(const BabbleOptions& options);

/// CMake chooses the implementation: cuda_babble.cu with SLUICE_CUDA, else cuda_babble_absent.cpp, which makes none.
[[nodiscard]] std::unique_ptr<Model> make_cuda_babble(const BabbleOptions& options, Device& device,
                                                      const ModelRoom& room);

}  // namespace sluice::test
