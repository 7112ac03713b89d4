#include "apps/classifier/classifier_weights.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

const std::vector<TensorSpec>& tensors() {
    static const std::vector<TensorSpec> specs{
        {"w_conv1", {256, 70, 7}},  {"b_conv1", {256}}, {"gamma_conv1", {256, 1008}}, {"beta_conv1", {256, 1008}},
        {"w_conv2", {256, 256, 7}}, {"b_conv2", {256}}, {"w_conv3", {256, 256, 3}},   {"b_conv3", {256}},
        {"w_conv4", {256, 256, 3}}, {"b_conv4", {256}}, {"w_conv5", {256, 256, 3}},   {"b_conv5", {256}},
        {"w_conv6", {256, 256, 3}}, {"b_conv6", {256}}, {"gamma_conv6", {256, 102}},  {"beta_conv6", {256, 102}},
        {"w_fc1", {1024, 8704}},    {"b_fc1", {1024}},  {"w_fc2", {1024, 1024}},      {"b_fc2", {1024}},
        {"w_fc3", {4, 1024}},       {"b_fc3", {4}},
    };
    return specs;
}

/// Counter-based: value i of tensor t depends on (seed, t, i) alone. SplitMix64's mixing: Steele, Lea, Flood 2014.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

/// Nearly normal, mean 0, variance 1: the sum of four 16-bit uniforms. Only exact arithmetic and one rounded product,
/// so that no mathematical library has a say in the bits.
double bell(std::uint64_t bits) {
    constexpr double centre = 2.0 * 65535.0;
    constexpr double per_deviation = 1.0 / 37837.226777626965;  // sqrt(4 * (65536^2 - 1) / 12)
    const std::uint64_t sum = (bits & 0xffffU) + ((bits >> 16U) & 0xffffU) + ((bits >> 32U) & 0xffffU) + (bits >> 48U);
    return (static_cast<double>(sum) - centre) * per_deviation;
}

/// Neighbouring positions of a channel get opposite weights: what all texts have at both of them cancels.
double difference(std::uint64_t key, std::uint64_t i) {
    const double value = bell(mix(key + i / 2));
    return i % 2 == 0 ? value : -value;
}

struct Spread {
    double mean;
    double deviation;
};

/// After a threshold of one deviation a value's mean square is 0.075 (half a normal's without one), so the products'
/// gain is 1 / 0.075, where He et al. 2015 have 2. The threshold lets only what stands out pass: blanks stay exactly
/// zero, and what texts have in common does not drown what tells them apart, which would give all of them one label.
constexpr double threshold = -1.0;
constexpr double gain = 13.3;

Spread spread_of(const TensorSpec& spec) {
    if (spec.name.starts_with("w_")) {
        const double fan_in = static_cast<double>(spec.elements()) / static_cast<double>(spec.shape[0]);
        return {0.0, std::sqrt(gain / fan_in)};
    }
    if (spec.name.starts_with("gamma_")) {
        return {1.0, 0.1};
    }
    if (spec.name == "b_conv1" || spec.name == "b_fc3") {
        return {0.0, 0.05};
    }
    return {threshold, 0.1};
}

constexpr unsigned most_threads = 8;  // 12 million values take one core less than 50 ms
constexpr std::size_t block = 4096;   // values, a few pages

/// Draws every `threads`-th block of each tensor, from block `thread` on.
void draw_blocks(std::uint64_t seed, std::span<float> to, std::size_t thread, std::size_t threads) {
    std::uint64_t key = mix(seed);
    for (const TensorSpec& spec : tensors()) {
        key = mix(key);
        const Spread spread = spread_of(spec);
        const bool differences = spec.name == "w_fc1";
        const std::span<float> tensor = to.first(spec.elements());
        for (std::size_t first = thread * block; first < tensor.size(); first += threads * block) {
            for (std::size_t i = first; i < std::min(first + block, tensor.size()); ++i) {
                const double value = differences ? difference(key, i) : bell(mix(key + i));
                tensor[i] = static_cast<float>(spread.mean + spread.deviation * value);
            }
        }
        to = to.subspan(tensor.size());
    }
}

}  // namespace

std::span<const TensorSpec> classifier_tensors() {
    return tensors();
}

std::size_t classifier_weight_count() {
    std::size_t count = 0;
    for (const TensorSpec& spec : tensors()) {
        count += spec.elements();
    }
    return count;
}

std::span<const float> classifier_tensor(std::span<const float> weights, std::string_view name) {
    for (const TensorSpec& spec : tensors()) {
        if (spec.name == name) {
            return weights.first(spec.elements());
        }
        weights = weights.subspan(spec.elements());
    }
    throw ContractViolation("classifier_tensor: no tensor of that name");
}

void random_classifier_weights(std::uint64_t seed, std::span<float> to) {
    expects(to.size() == classifier_weight_count(), "random_classifier_weights: room for all tensors");
    // Every value has a number of its own, so threads can draw any part: they share out each tensor in blocks.
    const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
    std::vector<std::future<void>> others;
    for (std::size_t thread = 1; thread < threads; ++thread) {
        others.push_back(std::async(std::launch::async, [=] { draw_blocks(seed, to, thread, threads); }));
    }
    draw_blocks(seed, to, 0, threads);
    for (std::future<void>& other : others) {
        other.get();
    }
}

}  // namespace sluice
