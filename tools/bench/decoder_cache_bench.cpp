#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "core/error.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/kernels.hpp"
#include "tools/bench/decoder_bench.hpp"

namespace sluice::bench {
namespace {

struct Texts {
    DecoderShape shape;
    DecoderWeights weights;
    TokenSampling sampling;
    std::vector<std::byte> items;
    std::size_t first = 0;  ///< Of the new tokens that are compared.
};

/// Results of all items.
std::vector<std::byte> continue_texts(CudaDevice& gpu, CudaStream& stream, Precision precision, const Texts& texts,
                                      KvCache cache) {
    TokenSampling sampling = texts.sampling;
    sampling.kv_cache = cache;
    PackedWeights packed;
    const auto layer =
        decoder_kernels_of(DeviceKind::cuda, precision).decoder(texts.shape, texts.weights, sampling, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 16);
    const IoShape io = decoder_io(sampling);
    const auto count = static_cast<std::uint32_t>(texts.items.size() / io.input_bytes);
    const auto decoder = layer->make_decoder(gpu, count, free_bytes(gpu));
    const Buffer in = gpu.allocate(MemorySpace::device, texts.items.size());
    const Buffer out = gpu.allocate(MemorySpace::device, std::size_t{count} * io.output_bytes);
    copy_now(in.bytes(), texts.items);
    decoder->enqueue(stream, {.items = count}, in.bytes(), out.bytes());
    std::vector<std::byte> results(out.bytes().size());
    stream.copy(results, out.bytes());
    stream.record().wait();
    return results;
}

struct Continuation {
    std::vector<std::uint32_t> tokens;
    std::vector<float> log_probabilities;
};

Continuation continuation_at(const std::byte* result, std::uint32_t max_new) {
    ContinuationStart start;
    std::memcpy(&start, result, sizeof start);
    Continuation continuation{std::vector<std::uint32_t>(start.tokens), std::vector<float>(start.tokens)};
    const std::byte* const tokens = result + sizeof start;
    std::memcpy(continuation.tokens.data(), tokens, start.tokens * sizeof(std::uint32_t));
    std::memcpy(continuation.log_probabilities.data(), tokens + max_new * sizeof(std::uint32_t),
                start.tokens * sizeof(float));
    return continuation;
}

/// Compares tokens that follow the same ones in both results, plain ones and those that more was rounded for. d is how
/// much less a token's log-probability is with the latter; of texts drawn with the former its mean over all draws is
/// what the perplexity's logarithm rises by. But tokens are compared only where both draw the same, rather where d is
/// small. d + exp(-d) - 1 has the same mean over all draws; near d^2 / 2, it depends less on which of them are left
/// out.
void compare_results(const std::vector<std::byte>& plain, const std::vector<std::byte>& rounded, const char* name,
                     const Texts& texts, std::string_view how) {
    const std::size_t bytes = decoder_io(texts.sampling).output_bytes;
    std::size_t tokens = 0;
    std::size_t same = 0;
    std::size_t same_texts = 0;
    double apart = 0;
    double furthest = 0;
    double lost = 0;
    double divergence = 0;
    double log_probability = 0;
    for (std::size_t at = 0; at < plain.size(); at += bytes) {
        const Continuation a = continuation_at(&plain[at], texts.sampling.max_new);
        const Continuation b = continuation_at(&rounded[at], texts.sampling.max_new);
        std::size_t i = 0;
        for (; i < a.tokens.size() && i < b.tokens.size() && a.tokens[i] == b.tokens[i]; ++i) {
            if (i < texts.first) {
                continue;
            }
            const double difference =
                static_cast<double>(a.log_probabilities[i]) - static_cast<double>(b.log_probabilities[i]);
            log_probability += static_cast<double>(a.log_probabilities[i]);
            lost += difference;
            divergence += difference + std::expm1(-difference);
            apart += std::abs(difference);
            furthest = std::max(furthest, std::abs(difference));
        }
        tokens += a.tokens.size() - std::min(a.tokens.size(), texts.first);
        same += i - std::min(i, texts.first);
        same_texts += a.tokens == b.tokens ? 1 : 0;
    }
    if (same == 0) {
        throw ContractViolation("bench_decoder: no token is the same in both");
    }
    const auto count = static_cast<double>(same);
    fmt::print("  {}, {}: {} texts, {:.1f} % the same; {:.1f} % of {} tokens before the first other one\n", name, how,
               plain.size() / bytes,
               100.0 * static_cast<double>(same_texts * bytes) / static_cast<double>(plain.size()),
               100 * count / static_cast<double>(tokens), tokens);
    fmt::print("    log-probability of those {:.5f} a token; in {} {:.5f} less, {:.5f} apart, at most {:.3f}",
               log_probability / count, how, lost / count, apart / count, furthest);
    if (texts.sampling.temperature != 0) {
        fmt::print("; perplexity {:.4f} % higher", 100 * std::expm1(divergence / count));
    }
    fmt::print("\n");
    std::fflush(stdout);
}

/// Results with a cache as computed. Those of bf16 are also compared with fp8's.
std::vector<std::byte> compare_texts(CudaDevice& gpu, CudaStream& stream, Precision precision, const char* name,
                                     const Texts& texts) {
    std::vector<std::byte> plain = continue_texts(gpu, stream, precision, texts, KvCache::as_computed);
    const auto compare = [&](Precision with, KvCache cache, const std::string& how) {
        compare_results(plain, continue_texts(gpu, stream, with, texts, cache), name, texts, how);
    };
    for (const KvCache cache : quantised_caches) {
        compare(precision, cache, fmt::format("a cache in {}", name_of(cache)));
    }
    if (precision == Precision::bf16 && gpu.instructions() == MatrixInstructions::wgmma) {
        compare(Precision::fp8, KvCache::as_computed, "products in fp8");
    }
    return plain;
}

void set_prompt(std::byte* item, std::uint64_t number, std::span<const std::uint32_t> tokens) {
    const PromptStart start{.number = number, .tokens = static_cast<std::uint32_t>(tokens.size())};
    std::memcpy(item, &start, sizeof start);
    std::memcpy(item + sizeof start, tokens.data(), tokens.size_bytes());
}

/// Prompts of a single token, `token`.
std::vector<std::byte> beginnings(std::uint32_t count, std::uint32_t token, const TokenSampling& sampling) {
    const std::size_t bytes = decoder_io(sampling).input_bytes;
    std::vector<std::byte> items(count * bytes);
    for (std::uint32_t i = 0; i < count; ++i) {
        set_prompt(&items[i * bytes], i, {&token, 1});
    }
    return items;
}

/// Prompts that are such texts up to tokens anywhere in them.
std::vector<std::byte> beginnings_of(const std::vector<std::byte>& results, const TokenSampling& made,
                                     std::uint32_t first_token, const TokenSampling& sampling) {
    constexpr std::size_t of_each = 8;
    const std::size_t bytes = decoder_io(sampling).input_bytes;
    const std::size_t result_bytes = decoder_io(made).output_bytes;
    std::vector<std::byte> items(results.size() / result_bytes * of_each * bytes);
    std::mt19937_64 engine(1);
    for (std::size_t i = 0; i < items.size() / bytes; ++i) {
        std::vector<std::uint32_t> text = continuation_at(&results[i / of_each * result_bytes], made.max_new).tokens;
        text.insert(text.begin(), first_token);
        const std::size_t most = std::min<std::size_t>(text.size(), sampling.max_prompt);
        set_prompt(&items[i * bytes], i, std::span(text).first(1 + engine() % most));
    }
    return items;
}

}  // namespace

void compare_caches(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights) {
    const TokenSampling greedy{.max_prompt = 512, .max_new = 128, .temperature = 0, .log_probabilities = true};
    compare_texts(gpu, stream, precision, "random weights, greedy",
                  {.shape = weights.shape(),
                   .weights = weights.weights(),
                   .sampling = greedy,
                   .items = items_of({.items = 2048, .least = 64, .most = 512}, greedy, weights.shape().vocabulary)});
}

void compare_caches_of_checkpoint(CudaDevice& gpu, CudaStream& stream, Precision precision,
                                  const std::filesystem::path& checkpoint) {
    const WeightBlob blob = gpt2::read_checkpoint(checkpoint, checkpoint.parent_path() / "config.json");
    const gpt2::Config config = gpt2::config_of(blob);
    const TokenSampling drawn{.max_prompt = 1,
                              .max_new = std::min(config.shape.positions - 1, 512U),
                              .end = config.end,
                              .seed = 1,
                              .log_probabilities = true};
    const std::uint32_t begin = config.begin.value_or(0);
    Texts texts{.shape = config.shape,
                .weights = gpt2::weights_of(blob),
                .sampling = drawn,
                .items = beginnings(4096, begin, drawn)};
    const std::vector<std::byte> results =
        compare_texts(gpu, stream, precision, "the checkpoint's own texts, drawn", texts);
    // The first token behind a prompt is that of attention to it as computed, but for the last layer.
    texts.sampling = {.max_prompt = config.shape.positions - 2, .max_new = 2, .seed = 2, .log_probabilities = true};
    texts.items = beginnings_of(results, drawn, begin, texts.sampling);
    texts.first = 1;
    compare_texts(gpu, stream, precision, "tokens anywhere in them", texts);
}

}  // namespace sluice::bench
