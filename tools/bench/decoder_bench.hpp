#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/decoder.hpp"

/// Shared by the parts of bench_decoder: a decoder with random weights, 16 prompt tokens and 8 new ones.
namespace sluice::bench {

/// GPT-2 of 124M parameters.
constexpr DecoderShape small_gpt2{
    .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
constexpr std::uint32_t prompt_tokens = 16;
constexpr std::uint32_t new_tokens = 8;
constexpr double memory_rate = 4.0e12;  // bytes per second of reads on an H200

/// FLOP/s that cuBLAS sustains for large square products on an H200; for tf32x3, a third of fp16's, for fp16x2 a half;
/// for fp8, what Fp8Gemm reaches in a pass.
[[nodiscard]] double sustained_flops(Precision precision);

/// Larger than GPT-2's own initialisation, which would only repeat the last token. From the 13th layer on those of the
/// first ones again. Biases with learned positions only, as in GPT-2; the head is that of the embeddings.
class DecoderBenchWeights {
public:
    explicit DecoderBenchWeights(const DecoderShape& shape);

    [[nodiscard]] const DecoderShape& shape() const noexcept { return shape_; }
    [[nodiscard]] DecoderWeights weights() const;

private:
    void add(std::size_t outputs, std::size_t inputs, float deviation);

    DecoderShape shape_;
    std::vector<float> tokens_, positions_, gamma_, beta_;
    std::vector<std::vector<float>> matrices_, biases_;
};

struct Prompts {
    std::uint32_t items;
    std::uint32_t least;  ///< Tokens.
    std::uint32_t most;
    std::uint32_t instruction = 0;  ///< Tokens that all prompts begin with, before those.
};

/// Items with prompts of random lengths and tokens of a `vocabulary`.
[[nodiscard]] std::vector<std::byte> items_of(const Prompts& prompts, const TokenSampling& sampling,
                                              std::uint32_t vocabulary);

/// Device memory available to a decoder.
[[nodiscard]] std::uint64_t free_bytes(const CudaDevice& gpu);

/// Prints the time and limit of each kernel of a prefill and, if more than 3 tokens are made, of a decode pass.
void time_passes(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
                 const Prompts& prompts, const TokenSampling& sampling);

/// Prints the times of a pass's products for each tile, alternating with cuBLASLt's; * marks the chosen tile.
void time_products(CudaStream& stream, Precision precision, const DecoderShape& shape);

inline constexpr std::array quantised_caches{KvCache::fp8, KvCache::int8};

/// Prints the effect of each quantised cache, and in bf16 of products in fp8, on tokens and log-probabilities: of 2,048
/// texts with 64 to 512 prompt tokens and 128 new ones, or of texts sampled from a checkpoint's model, with the sizes
/// of the config.json beside it.
void compare_caches(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights);
void compare_caches_of_checkpoint(CudaDevice& gpu, CudaStream& stream, Precision precision,
                                  const std::filesystem::path& checkpoint);

/// Prints whether decode attention of some texts hides behind products of others: the largest product of small_gpt2 on
/// some multiprocessors, alone and beside attention to the cache on the others.
void time_overlap(CudaDevice& gpu, CudaStream& stream, Precision precision);

}  // namespace sluice::bench
