#include "tools/bench/decoder_bench.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {

double sustained_flops(Precision precision) {
    switch (precision) {
        case Precision::bf16:
        case Precision::fp16:
            return 680e12;
        case Precision::tf32:
            return 340e12;
        case Precision::tf32x3:
            return 680e12 / 3;  // three fp16 products for one
        default:
            return 50e12;
    }
}

DecoderBenchWeights::DecoderBenchWeights() {
    constexpr std::uint32_t width = model.width;
    tokens_ = normal(std::size_t{model.vocabulary} * width, 0.02F, 1);
    positions_ = normal(std::size_t{model.positions} * width, 0.01F, 2);
    for (std::uint32_t layer = 0; layer < model.layers; ++layer) {
        add(3 * width, width, 0.06F);
        add(width, width, 0.08F);
        add(model.inner, width, 0.04F);
        add(width, model.inner, 0.05F);
    }
    gamma_.assign(width, 1);
    beta_ = normal(width, 0.1F, 3);
}

DecoderWeights DecoderBenchWeights::weights() const {
    const DecoderNorm norm{gamma_, beta_};
    DecoderWeights weights{.tokens = tokens_, .positions = positions_, .last_norm = norm};
    for (std::size_t i = 0; i < matrices_.size(); i += 4) {
        const auto linear = [&](std::size_t at) { return DecoderLinear{matrices_[at], biases_[at]}; };
        weights.blocks.push_back({.attention_norm = norm,
                                  .attention = linear(i),
                                  .projection = linear(i + 1),
                                  .inner_norm = norm,
                                  .expansion = linear(i + 2),
                                  .contraction = linear(i + 3)});
    }
    return weights;
}

void DecoderBenchWeights::add(std::size_t outputs, std::size_t inputs, float deviation) {
    const auto seed = static_cast<std::uint32_t>(10 + matrices_.size());
    matrices_.push_back(normal(outputs * inputs, deviation, seed));
    biases_.push_back(normal(outputs, 0.02F, seed + 1000));
}

std::vector<std::byte> items_of(const Prompts& prompts, const TokenSampling& sampling) {
    const std::size_t bytes = decoder_io(sampling).input_bytes;
    std::vector<std::byte> in(prompts.items * bytes);
    std::mt19937 engine(1);
    for (std::uint32_t i = 0; i < prompts.items; ++i) {
        const auto length = static_cast<std::uint32_t>(prompts.least + engine() % (prompts.most - prompts.least + 1));
        const PromptStart start{.number = i, .tokens = length};
        std::vector<std::uint32_t> tokens(length);
        std::ranges::generate(tokens, [&] { return static_cast<std::uint32_t>(engine() % model.vocabulary); });
        std::memcpy(&in[i * bytes], &start, sizeof start);
        std::memcpy(&in[i * bytes + sizeof start], tokens.data(), length * sizeof(std::uint32_t));
    }
    return in;
}

std::uint64_t free_bytes(const CudaDevice& gpu) {
    constexpr std::uint64_t kept = std::uint64_t{2} << 30U;
    return gpu.memory().value_or(MemoryInfo{}).free_bytes - kept;
}

}  // namespace sluice::bench
