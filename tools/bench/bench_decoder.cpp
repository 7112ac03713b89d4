// GPT-2 of 124M parameters, or another decoder, with random weights on a GPU, from ids in its memory to ids in its
// memory: each kernel of a pass beside its limit, and whole chunks of prompts of 16 tokens with 8 new ones, greedy or
// drawn; then, if asked for, prompts of 64 to 512 tokens with 128 new ones, in bf16, fp16 and fp8 with each cache,
// there and back; prompts of 900 to 1,023 tokens, or of other lengths, with one; 4,096 prompts of an instruction of so
// many tokens, which they share or each have apart, and 16 to 64 more, with 16 new ones; what quantised caches and fp8
// do to texts, also to those of a checkpoint; and the products of bf16 or fp16 in each tile beside cuBLASLt's, and
// beside attention. Certified is the chunks only, with the shares of texts that are checked and that are continued
// again.
//   bench_decoder [PRECISION ...] [config=CONFIG.json] [mma] [long] [prefill[=LEAST-MOST]] [instruction=TOKENS]
//                 [passes] [cache] [MODEL.safetensors] [products] [temperature=T] [top_k=K] [top_p=P]
//                 [repetition_penalty=R] [kv_cache=CACHE] [log_probabilities] [prompts=N ...]
//   config: of another decoder, as gpt2's model.config; prompts: numbers of short ones, in place of the usual
//   mma: as on GPUs without wgmma; passes: of short prompts and of `prefill` the kernels alone, for profilers
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/config.hpp"
#include "apps/gpt2/gpt2_model.hpp"
#include "core/app.hpp"
#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/cuda_operation.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "kernels/kernels.hpp"
#include "tools/bench/bench_main.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/decoder_bench.hpp"
#include "tools/bench/decoder_options.hpp"

namespace sluice::bench {
namespace {

/// GPT-2 in one precision.
class LoadedDecoder final : public LoadedApp {
public:
    LoadedDecoder(Precision precision, const DecoderBenchWeights& weights, const TokenSampling& sampling)
        : sampling_(sampling),
          layer_(decoder_kernels_of(DeviceKind::cuda, precision)
                     .decoder(weights.shape(), weights.weights(), sampling, weights_)) {}

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        return gpt2::make_gpt2_model(sampling_, layer_->make_decoder(device, room.most_items, room.device_bytes));
    }

private:
    TokenSampling sampling_;
    PackedWeights weights_;
    std::unique_ptr<DecoderLayer> layer_;
};

/// A model with a chunk of items, as a graph.
class Chunk {
public:
    /// Of tokens of a `vocabulary`.
    Chunk(CudaDevice& gpu, LoadedApp& app, const TokenSampling& sampling, Stream& stream, const Prompts& prompts,
          std::uint32_t vocabulary)
        : stream_(stream), items_(prompts.items), max_new_(sampling.max_new) {
        const std::vector<std::byte> items = items_of(prompts, sampling, vocabulary);
        in_ = gpu.allocate(MemorySpace::device, items.size());
        out_ = gpu.allocate(MemorySpace::device, std::size_t{items_} * decoder_io(sampling).output_bytes);
        copy_now(in_.bytes(), items);
        model_ = app.make_model(gpu, {.most_items = items_, .device_bytes = free_bytes(gpu) - app.weights()->bytes()});
        const std::size_t sample = std::min(app.sample_items(), items_);
        if (sample != 0) {
            model_->calibrate(stream, std::span(items).first(sample * decoder_io(sampling).input_bytes));
        }
    }

    void launch() {
        const auto work = [&] { model_->forward(stream_, items_, in_.bytes(), out_.bytes()); };
        stream_.launch(captured_, work);
    }

    /// Checks that every text has its maximum length: otherwise the times are of different work.
    void check() {
        launch();
        stream_.record().wait();
        if (count("texts") != items_ || count("new_tokens") != items_ * max_new_) {
            throw ContractViolation("bench_decoder: texts that have ended early");
        }
    }

    /// Counts of the model's work.
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
        const std::vector<ModelCount> counts = model_->counts();
        return std::ranges::find(counts, name, &ModelCount::name)->value;
    }
    void print_certification() const {
        if (const auto certified = model_->certification()) {
            const auto share = [&](std::uint64_t texts) {
                return 100 * static_cast<double>(texts) / static_cast<double>(count("texts"));
            };
            const CertificationChecks checks = certified->checks.value_or(CertificationChecks{});
            fmt::print(
                "          {:.2f} % of them checked in fp16x2, {:.2f} % corrected, {:.2f} % again in tf32x3, "
                "{:.2f} % in fp32; bound {:.3g}\n",
                share(checks.checked), share(checks.corrected), share(certified->recomputed),
                share(certified->recomputed_twice), certified->bound);
        }
    }

private:
    Stream& stream_;
    std::uint32_t items_;
    std::uint64_t max_new_;
    Buffer in_;
    Buffer out_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<CapturedWork> captured_;
};

constexpr std::array<std::uint32_t, 3> usual_prompts{8192, 8448, 131'072};

/// Without the last layer's unused rows.
double flop_of_text(const DecoderShape& shape, double prompt, double made) {
    const double width = shape.width;
    const double behind_attention =
        width * shape.query_width() + width * (shape.expanded_width() + static_cast<double>(shape.inner));
    const double block = width * shape.attention_width() + behind_attention;
    const double positions = prompt + made - 1;
    return 2 * (positions * shape.layers * block - (prompt - 1) * behind_attention + made * width * shape.vocabulary);
}

void print_rate(Precision precision, const Prompts& prompts, double made, const Timing& time, double limit_seconds) {
    const double tokens = prompts.items * made;
    const double rate = tokens / time.median_us * 1e6;
    fmt::print("  {:7} prompts {:10.1f} ms: {:9.0f} tokens/s ({:.0f} to {:.0f}), {:.1f} % of the limit of {:.0f}",
               prompts.items, time.median_us * 1e-3, rate, tokens / time.most_us * 1e6, tokens / time.least_us * 1e6,
               100 * limit_seconds * 1e6 / time.median_us, tokens / limit_seconds);
    fmt::print("  [{}]\n", name_of(precision));
    std::fflush(stdout);
}

std::unique_ptr<LoadedApp> load(Precision precision, const DecoderBenchWeights& weights,
                                const TokenSampling& sampling) {
    std::unique_ptr<LoadedApp> app;
    if (precision == Precision::certified) {
        app =
            std::make_unique<gpt2::LoadedCertifiedGpt2>(weights.shape(), weights.weights(), sampling, DeviceKind::cuda);
    } else {
        app = std::make_unique<LoadedDecoder>(precision, weights, sampling);
    }
    app->weights()->pack(NodeMemory::of_process(app->weights()->bytes()), {}, 16);
    return app;
}

/// The precision whose limits apply.
Precision limits_of(Precision precision) {
    return precision == Precision::certified ? Precision::fp16 : precision;
}

/// Call after check(), which loads the kernels. Fewer repeats than time_in_turn(): a chunk may take seconds.
Timing time_chunk(Chunk& chunk, CudaStream& stream) {
    constexpr int repeats = 5;
    std::array<cudaEvent_t, repeats + 1> events{};
    for (cudaEvent_t& event : events) {
        check_cuda(cudaEventCreate(&event), "cudaEventCreate");
        if (&event != &events.front()) {
            chunk.launch();
        }
        check_cuda(cudaEventRecord(event, stream.handle()), "cudaEventRecord");
    }
    check_cuda(cudaEventSynchronize(events.back()), "cudaEventSynchronize");
    std::vector<double> us;
    for (std::size_t i = 0; i < repeats; ++i) {
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, events[i], events[i + 1]), "cudaEventElapsedTime");
        us.push_back(1e3 * static_cast<double>(ms));
    }
    for (const cudaEvent_t event : events) {
        check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
    }
    std::ranges::sort(us);
    return {us[repeats / 2], us.front(), us.back()};
}

void time_chunks(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
                 const TokenSampling& sampling, std::span<const std::uint32_t> numbers) {
    const DecoderShape& shape = weights.shape();
    const auto app = load(precision, weights, sampling);
    for (const std::uint32_t items : numbers) {
        if (precision == Precision::fp32 && items > 8448) {
            continue;  // takes many seconds and adds nothing
        }
        const Prompts prompts{.items = items, .least = prompt_tokens, .most = prompt_tokens};
        Chunk chunk(gpu, *app, sampling, stream, prompts, shape.vocabulary);
        chunk.check();
        const double limit =
            items * flop_of_text(shape, prompt_tokens, new_tokens) / sustained_flops(limits_of(precision));
        print_rate(precision, prompts, new_tokens, time_chunk(chunk, stream), limit);
        chunk.print_certification();
    }
}

/// The limit: keys and values read by decode, and the prompts' compute.
void time_long(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
               KvCache cache) {
    constexpr std::uint32_t made = 128;
    const DecoderShape& shape = weights.shape();
    const Prompts prompts{.items = 2048, .least = 64, .most = 512};
    const TokenSampling sampling{.max_prompt = prompts.most, .max_new = made, .temperature = 0, .kv_cache = cache};
    const auto app = load(precision, weights, sampling);
    Chunk chunk(gpu, *app, sampling, stream, prompts, shape.vocabulary);
    chunk.check();
    const double mean = static_cast<double>(chunk.count("prompt_tokens")) / prompts.items;
    const double position_bytes =
        static_cast<double>(decoder::page_bytes(shape, sampling, limits_of(precision))) / decoder::page_positions;
    const double read = prompts.items * (made - 1) * (mean + made / 2.0) * position_bytes;
    const double limit =
        read / memory_rate + prompts.items * flop_of_text(shape, mean, made) / sustained_flops(limits_of(precision));
    print_rate(precision, prompts, made, time_chunk(chunk, stream), limit);
    chunk.print_certification();
}

/// Both in turn, twice.
void time_instruction(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
                      std::uint32_t tokens) {
    constexpr std::uint32_t most = 64;
    constexpr std::uint32_t made = 16;
    const TokenSampling sampling{.max_prompt = tokens + most, .max_new = made, .temperature = 0};
    const auto app = load(precision, weights, sampling);
    for (const bool shared : {false, true, false, true}) {
        const Prompts prompts{.items = 4096,
                              .least = shared ? 16 : tokens + 16,
                              .most = tokens + most - (shared ? tokens : 0),
                              .instruction = shared ? tokens : 0};
        fmt::print(" an instruction of {} tokens {}, 16 to {} more, {} new ones\n", tokens,
                   shared ? "that all share" : "each", most, made);
        Chunk chunk(gpu, *app, sampling, stream, prompts, weights.shape().vocabulary);
        chunk.check();
        const double mean = static_cast<double>(chunk.count("prompt_tokens")) / prompts.items;
        const double limit =
            prompts.items * flop_of_text(weights.shape(), mean, made) / sustained_flops(limits_of(precision));
        print_rate(precision, prompts, made, time_chunk(chunk, stream), limit);
        chunk.print_certification();
    }
}

/// The limit: the products, and those of attention, at the same rate.
void time_prefill(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
                  const PromptLengths& lengths, bool with_chunks) {
    constexpr std::uint32_t tokens = 1 << 20;  // of all prompts, about
    const Prompts prompts{
        .items = 2 * tokens / (lengths.least + lengths.most), .least = lengths.least, .most = lengths.most};
    const TokenSampling sampling{.max_prompt = prompts.most, .max_new = 1, .temperature = 0};
    fmt::print(" prompts of {} to {} tokens, 1 new one\n", prompts.least, prompts.most);
    if (precision != Precision::certified) {
        time_passes(gpu, stream, precision, weights,
                    {.items = (1U << 16) / prompts.least, .least = prompts.least, .most = prompts.most}, sampling);
    }
    if (!with_chunks) {
        return;
    }
    const DecoderShape& shape = weights.shape();
    const auto app = load(precision, weights, sampling);
    Chunk chunk(gpu, *app, sampling, stream, prompts, shape.vocabulary);
    chunk.check();
    const double mean = static_cast<double>(chunk.count("prompt_tokens")) / prompts.items;
    const double attention =
        2.0 * shape.query_width() * mean * mean * shape.layers;  // each query sees half of the keys
    const double limit =
        prompts.items * (flop_of_text(shape, mean, 1) + attention) / sustained_flops(limits_of(precision));
    print_rate(precision, prompts, 1, time_chunk(chunk, stream), limit);
    chunk.print_certification();
}

/// With each cache that the precision has; where there are several, once more in reverse order.
void time_long_of_caches(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights) {
    std::vector<KvCache> caches{KvCache::as_computed};
    if (decoder::is_narrow(precision)) {
        caches.insert(caches.end(), quantised_caches.begin(), quantised_caches.end());
        const std::vector<KvCache> there = caches;
        caches.insert(caches.end(), there.rbegin(), there.rend());
    }
    for (const KvCache cache : caches) {
        fmt::print(" prompts of 64 to 512 tokens, 128 new ones; cache: {}\n", name_of(cache));
        time_long(gpu, stream, precision, weights, cache);
    }
}

std::vector<Precision> precisions_of(const CudaDevice& gpu) {
    std::vector<Precision> all{Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32};
    if (gpu.instructions() == MatrixInstructions::wgmma) {
        all.push_back(Precision::tf32x3);
        all.push_back(Precision::fp16x2);
        all.push_back(Precision::fp8);
    }
    return all;
}

void measure(CudaDevice& gpu, CudaStream& stream, Precision precision, const DecoderBenchWeights& weights,
             const DecoderBenchOptions& options) {
    const bool has_caches = decoder::is_narrow(precision);
    fmt::print("{}\n", name_of(precision));
    if ((options.with_cache || !options.checkpoint.empty()) && !has_caches) {
        fmt::print(" no quantised caches to compare: bf16, fp16 and fp8 have them\n");
    }
    if (options.with_chunks) {
        const std::span<const std::uint32_t> usual(usual_prompts);
        time_chunks(gpu, stream, precision, weights, options.sampling,
                    options.prompts.empty() ? usual : std::span(options.prompts));
    }
    if (precision != Precision::certified) {  // its passes are those of other precisions
        const std::uint32_t prompts = options.prompts.empty() ? 100'000 : std::ranges::max(options.prompts);
        time_passes(gpu, stream, precision, weights, {.items = prompts, .least = prompt_tokens, .most = prompt_tokens},
                    options.sampling);
    }
    if (options.with_long) {
        time_long_of_caches(gpu, stream, precision, weights);
    }
    if (options.prefill) {
        time_prefill(gpu, stream, precision, weights, *options.prefill, options.with_chunks);
    }
    if (options.instruction) {
        time_instruction(gpu, stream, precision, weights, *options.instruction);
    }
    if (options.with_cache && has_caches) {
        compare_caches(gpu, stream, precision, weights);
    }
    if (!options.checkpoint.empty() && has_caches) {
        compare_caches_of_checkpoint(gpu, stream, precision, options.checkpoint);
    }
    if (options.with_products && has_caches && precision != Precision::fp8) {
        time_overlap(gpu, stream, precision);
        time_products(stream, precision, weights.shape());
    }
}

int run(int argc, char** argv) {
    const std::optional<DecoderBenchOptions> options =
        parse_decoder_bench(std::span<char* const>(argv, argv + argc).subspan(1));
    if (!options) {
        fmt::print(stderr,
                   "usage: bench_decoder [fp32 | tf32x3 | fp16x2 | tf32 | fp16 | bf16 | fp8 | certified ...] "
                   "[config=CONFIG.json] "
                   "[mma] [long] [prefill[=LEAST-MOST]] [instruction=TOKENS] [passes] [cache] [MODEL.safetensors] "
                   "[products] [temperature=T] [top_k=K] [top_p=P] [repetition_penalty=R] [kv_cache=CACHE] "
                   "[log_probabilities] [prompts=N ...]\n");
        return 64;
    }
    const std::unique_ptr<Device> device = make_cuda_device(0, options->device);
    CudaDevice& gpu = as_cuda(*device);
    const std::unique_ptr<Stream> stream = gpu.make_stream({});
    const DecoderBenchWeights weights(options->config.empty() ? small_gpt2 : gpt2::read_config(options->config).shape);
    const TokenSampling& sampling = options->sampling;
    fmt::print(
        "{}: {}, {} + {} tokens, {}\n", gpu.name(),
        options->config.empty() ? "GPT-2 of 124M parameters" : options->config.native(), prompt_tokens, new_tokens,
        sampling.temperature == 0
            ? "greedy"
            : fmt::format("temperature {}, top_k {}, top_p {}", sampling.temperature, sampling.top_k, sampling.top_p));
    for (const Precision precision : options->precisions.empty() ? precisions_of(gpu) : options->precisions) {
        measure(gpu, as_cuda(*stream), precision, weights, *options);
    }
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
