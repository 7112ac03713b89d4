#pragma once

#include <cstdint>

#include "kernels/philox.hpp"

namespace sluice {

/// out[i] = random_words(seed, draws[i]) for each i < count, in device memory.
void enqueue_random_words(std::uint64_t seed, const Draw* draws, std::uint32_t count, Random128* out);

/// out[i] = uniform_below_one(words[i]) likewise.
void enqueue_uniforms(const std::uint32_t* words, std::uint32_t count, float* out);

}  // namespace sluice
