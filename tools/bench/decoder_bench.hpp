#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"
#include "kernels/cuda/precision.hpp"
#include "kernels/decoder.hpp"

/// What the parts of bench_decoder share: GPT-2 of 124M parameters with random weights, 16 tokens and 8 new ones.
namespace sluice::bench {

constexpr DecoderShape model{
    .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
constexpr std::uint32_t prompt_tokens = 16;
constexpr std::uint32_t new_tokens = 8;
constexpr double memory_rate = 4.0e12;  // bytes a second that an H200 reads

/// What cuBLAS sustains on large squares on an H200; in tf32x3 a third of what it does in fp16.
[[nodiscard]] double sustained_flops(Precision precision);

/// Larger than GPT-2's own initialisation, which would repeat the last token.
class DecoderBenchWeights {
public:
    DecoderBenchWeights();

    [[nodiscard]] DecoderWeights weights() const;

private:
    void add(std::size_t outputs, std::size_t inputs, float deviation);

    std::vector<float> tokens_, positions_, gamma_, beta_;
    std::vector<std::vector<float>> matrices_, biases_;
};

struct Prompts {
    std::uint32_t items;
    std::uint32_t least;  ///< Tokens.
    std::uint32_t most;
};

/// Items with prompts of random lengths and tokens.
[[nodiscard]] std::vector<std::byte> items_of(const Prompts& prompts, const TokenSampling& sampling);

/// That a decoder may take.
[[nodiscard]] std::uint64_t free_bytes(const CudaDevice& gpu);

/// Prints the time of each kernel of a pass of prompts and of one of last tokens, beside its limit.
void time_passes(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights);

/// Prints the times of the products of a pass in each tile, in turn with cuBLASLt's: the tile that is chosen has a
/// star.
void time_products(CudaStream& stream, Precision precision);

/// Prints what a cache in fp8 does to the tokens and log-probabilities of 2,048 texts of 64 to 512 tokens and 128 new
/// ones; or of texts that a checkpoint's model draws, of the sizes that its config.json beside it says.
void compare_caches(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights);
void compare_caches_of_checkpoint(CudaDevice& gpu, CudaStream& stream, Precision precision,
                                  const std::filesystem::path& checkpoint);

/// Prints whether attention of some texts' last tokens hides behind products of others: the largest product on some of
/// the multiprocessors, alone and beside attention to the cache on the rest of them.
void time_overlap(CudaDevice& gpu, CudaStream& stream, Precision precision);

}  // namespace sluice::bench
