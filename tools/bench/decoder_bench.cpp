#include "tools/bench/decoder_bench.hpp"

#include <algorithm>
#include <cmath>
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
        case Precision::fp16x2:
            return 680e12 / 2;  // one in fp16, and one twice as deep in e4m3
        case Precision::fp8:
            return 1400e12;  // of those in e4m3
        default:
            return 50e12;
    }
}

DecoderBenchWeights::DecoderBenchWeights(const DecoderShape& shape) : shape_(shape) {
    constexpr std::uint32_t most_layers = 12;
    const std::uint32_t width = shape.width;
    const float scale = std::sqrt(static_cast<float>(small_gpt2.width) / static_cast<float>(width));
    tokens_ = normal(std::size_t{shape.vocabulary} * width, 0.02F, 1);
    if (!shape.rotary) {
        positions_ = normal(std::size_t{shape.positions} * width, 0.01F, 2);
    }
    for (std::uint32_t layer = 0; layer < std::min(shape.layers, most_layers); ++layer) {
        add(shape.attention_width(), width, 0.06F * scale);
        add(width, shape.query_width(), 0.08F * scale);
        add(shape.expanded_width(), width, 0.04F * scale);
        add(width, shape.inner, 0.05F * scale);
    }
    gamma_.assign(width, 1);
    if (shape.normalisation == DecoderNormalisation::layer) {
        beta_ = normal(width, 0.1F, 3);
    }
}

DecoderWeights DecoderBenchWeights::weights() const {
    const DecoderNorm norm{gamma_, beta_};
    DecoderWeights weights{.tokens = tokens_, .positions = positions_, .last_norm = norm};
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
        const std::size_t first = 4 * std::size_t{layer} % matrices_.size();
        const auto linear = [&](std::size_t i) { return DecoderLinear{matrices_[first + i], biases_[first + i]}; };
        weights.blocks.push_back({.attention_norm = norm,
                                  .attention = linear(0),
                                  .projection = linear(1),
                                  .inner_norm = norm,
                                  .expansion = linear(2),
                                  .contraction = linear(3)});
    }
    return weights;
}

void DecoderBenchWeights::add(std::size_t outputs, std::size_t inputs, float deviation) {
    const auto seed = static_cast<std::uint32_t>(10 + matrices_.size());
    matrices_.push_back(normal(outputs * inputs, deviation, seed));
    biases_.push_back(shape_.rotary ? std::vector<float>() : normal(outputs, 0.02F, seed + 1000));
}

std::vector<std::byte> items_of(const Prompts& prompts, const TokenSampling& sampling, std::uint32_t vocabulary) {
    const std::size_t bytes = decoder_io(sampling).input_bytes;
    std::vector<std::byte> in(prompts.items * bytes);
    std::mt19937 engine(1);
    const auto token = [&] { return static_cast<std::uint32_t>(engine() % vocabulary); };
    std::vector<std::uint32_t> tokens(prompts.instruction);
    std::ranges::generate(tokens, token);
    for (std::uint32_t i = 0; i < prompts.items; ++i) {
        const auto length = static_cast<std::uint32_t>(prompts.instruction + prompts.least +
                                                       engine() % (prompts.most - prompts.least + 1));
        const PromptStart start{.number = i, .tokens = length};
        tokens.resize(length);
        std::generate(tokens.begin() + prompts.instruction, tokens.end(), token);
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
