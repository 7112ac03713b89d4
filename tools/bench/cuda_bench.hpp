#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/device_memory.hpp"

namespace sluice::bench {

/// Normally distributed, reproducible by seed; repeats after a prime number of values, about 4 million.
inline std::vector<float> normal(std::size_t count, float deviation, std::uint32_t seed) {
    constexpr std::size_t period = 3'999'971;
    std::mt19937 engine(seed);
    std::normal_distribution<float> draw(0.0F, deviation);
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) {
        result[i] = i < period ? draw(engine) : result[i - period];
    }
    return result;
}

using Launch = std::function<void(cudaStream_t)>;

struct Timing {
    double median_us;
    double least_us;
    double most_us;
};

/// Times per call. Every repeat times all candidates in turn, each called often enough to fill `sample_us`.
std::vector<Timing> time_in_turn(std::span<const Launch> candidates, cudaStream_t stream, double sample_us = 5000,
                                 int repeats = 9);

/// A candidate to time, and the one that it is compared with.
struct Candidate {
    std::string name;
    double flop;
    Launch launch;
    std::vector<std::size_t> limits{};
};

/// Times the candidates and prints a line each, with the shares of their limits.
void time_and_print(std::span<const Candidate> candidates, cudaStream_t stream, double sample_us = 5000,
                    int repeats = 9);

}  // namespace sluice::bench
