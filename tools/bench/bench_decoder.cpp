// GPT-2 of 124M parameters with random weights on a GPU, greedy, from ids in its memory to ids in its memory: each
// kernel of a pass beside its limit, and whole chunks of prompts of 16 tokens with 8 new ones; then, if asked for,
// prompts of 64 to 512 tokens with 128 new ones, and the products of bf16 or fp16 in each tile beside cuBLASLt's.
//   bench_decoder [PRECISION ...] [long] [products]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/decoder/passes.hpp"
#include "kernels/cuda/decoder/plan_memory.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/linear_gemm.hpp"
#include "kernels/kernels.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {
namespace {

constexpr DecoderShape model{
    .vocabulary = 50'257, .positions = 1024, .width = 768, .layers = 12, .heads = 12, .inner = 3072};
constexpr std::uint32_t prompt_tokens = 16;
constexpr std::uint32_t new_tokens = 8;
constexpr double memory_rate = 4.0e12;  // bytes a second that an H200 reads

/// What cuBLAS sustains on large squares on an H200.
double sustained_flops(Precision precision) {
    switch (precision) {
        case Precision::bf16:
        case Precision::fp16:
            return 680e12;
        case Precision::tf32:
            return 340e12;
        default:
            return 50e12;
    }
}

/// Larger than GPT-2's own initialisation, which would repeat the last token.
class Weights {
public:
    Weights() {
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

    [[nodiscard]] DecoderWeights weights() const {
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

private:
    void add(std::size_t outputs, std::size_t inputs, float deviation) {
        const auto seed = static_cast<std::uint32_t>(10 + matrices_.size());
        matrices_.push_back(normal(outputs * inputs, deviation, seed));
        biases_.push_back(normal(outputs, 0.02F, seed + 1000));
    }

    std::vector<float> tokens_, positions_, gamma_, beta_;
    std::vector<std::vector<float>> matrices_, biases_;
};

struct Prompts {
    std::uint32_t items;
    std::uint32_t least;  ///< Tokens.
    std::uint32_t most;
};

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

/// A pass's kernels of one kind.
struct Work {
    double flop = 0;
    double bytes = 0;
};

/// Of `rows` rows, of which `entries` want scores and `prompt_rows` are of prompts; the others attend to `positions`.
struct PassWork {
    double rows;
    double entries;
    double prompt_rows;
    double positions;
    double value_bytes;

    [[nodiscard]] Work of(std::string_view kind) const {
        constexpr double width = model.width;
        constexpr double layers = model.layers;
        const double row_bytes = width * value_bytes;
        const double all = (layers - 1) * rows + entries;  // of what is not done for every row in the last layer
        if (kind == "queries, keys, values") {
            return {.flop = layers * rows * 6 * width * width};
        }
        if (kind == "projection") {
            return {.flop = all * 2 * width * width};
        }
        if (kind == "expansion" || kind == "contraction") {
            return {.flop = all * 2 * width * model.inner};
        }
        if (kind == "head") {
            return {.flop = entries * 2 * width * model.vocabulary};
        }
        if (kind == "embedding") {
            return {.bytes = rows * (2 * row_bytes + 4 * width)};
        }
        if (kind == "normalisation") {
            return {.bytes = (all + layers * rows + entries) * 2 * row_bytes};
        }
        if (kind == "into the cache") {
            return {.bytes = (value_bytes < sizeof(float) ? 1 : layers) * rows * 4 * row_bytes};
        }
        if (kind == "attention of prompts") {
            return {.bytes = (layers - 1) * prompt_rows * 6 * row_bytes};
        }
        if (kind == "attention to the cache") {
            const double continued = rows - prompt_rows;
            return {.bytes = ((layers - 1) * continued + entries) * (2 * positions + 2) * row_bytes};
        }
        if (kind == "attention") {
            return {.bytes = layers * rows * 4 * row_bytes};
        }
        return {};
    }
};

/// The first chunk of texts that fills all slots, a pass at a time.
class PassBench {
public:
    PassBench(CudaDevice& gpu, Precision precision, const Weights& weights)
        : precision_(precision), packer_(model, precision, weights.weights(), packed_) {
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 16);
        weights_ = packer_.on(gpu);
        sizes_ = decoder::choose_sizes(model, sampling_, precision, 100'000, free_bytes(gpu));
        plan_ = std::make_unique<decoder::PlanMemory>(gpu, sizes_);
        memory_ = plan_->memory();
        const decoder::PassSetup setup{.device = gpu,
                                       .shape = model,
                                       .precision = precision,
                                       .sampling = sampling_,
                                       .sizes = sizes_,
                                       .weights = weights_,
                                       .memory = memory_};
        passes_ = decoder::is_narrow(precision) ? make_narrow_passes(setup) : make_float_passes(setup);
        const std::vector<std::byte> items =
            items_of({.items = sizes_.slots, .least = prompt_tokens, .most = prompt_tokens}, sampling_);
        in_ = gpu.allocate(MemorySpace::device, items.size());
        out_ = gpu.allocate(MemorySpace::device, std::size_t{sizes_.slots} * decoder_io(sampling_).output_bytes);
        copy_now(in_.bytes(), items);
    }

    void print(cudaStream_t stream) {
        run_chunk(stream);  // loads the kernels
        run_chunk(stream);
        print_pass("prompts", 0, stream);
        print_pass("last tokens", passes_of_prompts() + 2, stream);
    }

private:
    using Times = std::map<std::string, double>;  // us, of a pass, by kind of kernel

    [[nodiscard]] std::uint32_t passes_of_prompts() const {
        const std::uint32_t a_pass = sizes_.rows / prompt_tokens;
        return (sizes_.slots + a_pass - 1) / a_pass;
    }

    /// The times of pass `number`, if it is one of the chunk's.
    Times run_chunk(cudaStream_t stream, std::optional<std::uint32_t> number = {}) {
        const decoder::Rule rule = decoder::rule_of(sampling_);
        Times times;
        decoder::enqueue_begin(memory_, rule, in_.bytes().data(), out_.bytes().data(), sizes_.slots, nullptr, stream);
        for (std::uint32_t pass = 0; pass < passes_of_prompts() + new_tokens; ++pass) {
            if (pass == number) {
                times = time_pass(stream);
            } else {
                passes_->enqueue(stream, [](std::string_view) {});
            }
            decoder::enqueue_plan(memory_, rule, stream);
        }
        decoder::enqueue_expect_done(memory_, stream);
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return times;
    }

    Times time_pass(cudaStream_t stream) {
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check_cuda(cudaMemcpy(&seen_, memory_.batch, sizeof seen_, cudaMemcpyDeviceToHost), "cudaMemcpy");
        std::vector<std::pair<std::string, cudaEvent_t>> events;
        const auto mark = [&](std::string_view kind) {
            cudaEvent_t event = nullptr;
            check_cuda(cudaEventCreate(&event), "cudaEventCreate");
            check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
            events.emplace_back(kind, event);
        };
        passes_->enqueue(stream, mark);
        mark("end");
        check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Times times;
        for (std::size_t i = 0; i + 1 < events.size(); ++i) {
            float ms = 0;
            check_cuda(cudaEventElapsedTime(&ms, events[i].second, events[i + 1].second), "cudaEventElapsedTime");
            times[events[i].first] += 1e3 * static_cast<double>(ms);
        }
        for (const auto& [kind, event] : events) {
            check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
        }
        return times;
    }

    void print_pass(const char* name, std::uint32_t number, cudaStream_t stream) {
        constexpr int repeats = 5;
        std::map<std::string, std::vector<double>> samples;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            for (const auto& [kind, us] : run_chunk(stream, number)) {
                samples[kind].push_back(us);
            }
        }
        const PassWork work{.rows = static_cast<double>(seen_.rows),
                            .entries = static_cast<double>(seen_.entries),
                            .prompt_rows = static_cast<double>(seen_.beginning_rows),
                            .positions = prompt_tokens + (number == 0 ? 0.0 : 3.0),
                            .value_bytes = static_cast<double>(number_bytes(precision_))};
        fmt::print(" a pass of {}: {} rows, {} of prompts, {} want scores; kernels apart, medians of {}\n", name,
                   seen_.rows, seen_.beginning_rows, seen_.entries, repeats);
        double all = 0;
        double all_limits = 0;
        for (auto& [kind, us] : samples) {
            std::ranges::sort(us);
            const double median = us[us.size() / 2];
            const Work of = work.of(kind);
            const double limit = 1e6 * std::max(of.flop / sustained_flops(precision_), of.bytes / memory_rate);
            all += median;
            all_limits += limit;
            fmt::print("  {:24} {:9.1f} us, limit {:9.1f} us, {:5.1f} %{}\n", kind, median, limit, 100 * limit / median,
                       of.flop > 0 ? fmt::format(", {:.0f} TFLOP/s", of.flop / median * 1e-6) : std::string());
        }
        fmt::print("  {:24} {:9.1f} us, limit {:9.1f} us, {:5.1f} %\n", "all", all, all_limits, 100 * all_limits / all);
        std::fflush(stdout);
    }

    TokenSampling sampling_{.max_prompt = prompt_tokens, .max_new = new_tokens, .temperature = 0};
    Precision precision_;
    PackedWeights packed_;
    decoder::CudaDecoderWeights packer_;
    decoder::WeightsOnDevice weights_;
    decoder::Sizes sizes_{};
    std::unique_ptr<decoder::PlanMemory> plan_;
    decoder::Memory memory_;
    std::unique_ptr<decoder::Passes> passes_;
    Buffer in_;
    Buffer out_;
    decoder::Batch seen_{};
};

/// A decoder with a chunk of items, as a graph.
class Chunk {
public:
    Chunk(CudaDevice& gpu, const DecoderLayer& layer, const TokenSampling& sampling, Stream& stream,
          const Prompts& prompts)
        : stream_(stream), items_(prompts.items), max_new_(sampling.max_new) {
        const std::vector<std::byte> items = items_of(prompts, sampling);
        in_ = gpu.allocate(MemorySpace::device, items.size());
        out_ = gpu.allocate(MemorySpace::device, std::size_t{items_} * decoder_io(sampling).output_bytes);
        copy_now(in_.bytes(), items);
        decoder_ = layer.make_decoder(gpu, items_, free_bytes(gpu));
    }

    void launch() {
        const auto work = [&] { decoder_->enqueue(stream_, {.items = items_}, in_.bytes(), out_.bytes()); };
        stream_.launch(captured_, work);
    }

    /// That every text is as long as it may be: else the times are of other work.
    DecoderCounts check() {
        launch();
        stream_.record().wait();
        const DecoderCounts counts = decoder_->counts();
        if (counts.texts != items_ || counts.new_tokens != counts.texts * max_new_) {
            throw ContractViolation("bench_decoder: texts that have ended early");
        }
        return counts;
    }

private:
    Stream& stream_;
    std::uint32_t items_;
    std::uint64_t max_new_;
    Buffer in_;
    Buffer out_;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<CapturedWork> captured_;
};

/// Without the last layer's rows that nothing follows from.
double flop_of_text(double prompt, double made) {
    constexpr double width = model.width;
    constexpr double block = 4 * width * width + 2 * width * model.inner;
    constexpr double pruned = width * width + 2 * width * model.inner;
    const double positions = prompt + made - 1;
    return 2 * (positions * model.layers * block - (prompt - 1) * pruned + made * width * model.vocabulary);
}

void print_rate(Precision precision, const Prompts& prompts, double made, const Timing& time, double limit_seconds,
                double bar) {
    const double tokens = prompts.items * made;
    const double rate = tokens / time.median_us * 1e6;
    fmt::print("  {:7} prompts {:10.1f} ms: {:9.0f} tokens/s ({:.0f} to {:.0f}), {:.1f} % of the limit of {:.0f}",
               prompts.items, time.median_us * 1e-3, rate, tokens / time.most_us * 1e6, tokens / time.least_us * 1e6,
               100 * limit_seconds * 1e6 / time.median_us, tokens / limit_seconds);
    if (bar > 0) {
        fmt::print("; the bar is {:.0f}: {}", bar, rate >= bar ? "met" : "missed");
    }
    fmt::print("  [{}]\n", name_of(precision));
    std::fflush(stdout);
}

double bar_of(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return 700e3;
        case Precision::tf32:
            return 380e3;
        case Precision::fp32:
            return 80e3;
        default:
            return 0;
    }
}

std::unique_ptr<DecoderLayer> layer_of(Precision precision, const Weights& weights, const TokenSampling& sampling,
                                       PackedWeights& packed) {
    auto layer = decoder_kernels_of(DeviceKind::cuda, precision).decoder(model, weights.weights(), sampling, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 16);
    return layer;
}

/// After check(), which has loaded the kernels. Fewer than time_in_turn() takes: a chunk may last seconds.
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

void time_chunks(CudaDevice& gpu, CudaStream& stream, Precision precision, const Weights& weights) {
    const TokenSampling sampling{.max_prompt = prompt_tokens, .max_new = new_tokens, .temperature = 0};
    PackedWeights packed;
    const auto layer = layer_of(precision, weights, sampling, packed);
    for (const std::uint32_t items : {8192U, 8448U, 131'072U}) {
        if (precision == Precision::fp32 && items > 8448) {
            continue;  // many seconds, and nothing new
        }
        const Prompts prompts{.items = items, .least = prompt_tokens, .most = prompt_tokens};
        Chunk chunk(gpu, *layer, sampling, stream, prompts);
        chunk.check();
        const double limit = items * flop_of_text(prompt_tokens, new_tokens) / sustained_flops(precision);
        print_rate(precision, prompts, new_tokens, time_chunk(chunk, stream), limit, bar_of(precision));
    }
}

/// The limit: keys and values that last tokens read, and what prompts compute.
void time_long(CudaDevice& gpu, CudaStream& stream, Precision precision, const Weights& weights) {
    constexpr std::uint32_t made = 128;
    const Prompts prompts{.items = 2048, .least = 64, .most = 512};
    const TokenSampling sampling{.max_prompt = prompts.most, .max_new = made, .temperature = 0};
    PackedWeights packed;
    const auto layer = layer_of(precision, weights, sampling, packed);
    Chunk chunk(gpu, *layer, sampling, stream, prompts);
    const DecoderCounts counts = chunk.check();
    const double mean = static_cast<double>(counts.prompt_tokens) / prompts.items;
    const double position_bytes = 2.0 * model.layers * model.width * static_cast<double>(number_bytes(precision));
    const double read = prompts.items * (made - 1) * (mean + made / 2.0) * position_bytes;
    const double limit = read / memory_rate + prompts.items * flop_of_text(mean, made) / sustained_flops(precision);
    print_rate(precision, prompts, made, time_chunk(chunk, stream), limit, 0);
}

/// The products of a pass in each tile, in turn with cuBLASLt's: the tile that is chosen has a star.
void time_products(CudaStream& stream, Precision precision) {
    constexpr std::uint32_t most_rows = 16896;
    const DeviceMemory in(
        std::span<const std::byte>(encode(precision, normal(std::size_t{most_rows} * model.inner, 0.5F, 3))));
    const DeviceMemory matrix(
        std::span<const std::byte>(encode(precision, normal(std::size_t{model.inner} * model.width, 0.04F, 4))));
    const std::vector<float> biases = normal(model.inner, 0.1F, 5);
    const DeviceMemory bias(std::as_bytes(std::span(biases)));
    const DeviceMemory library_bias(std::span<const std::byte>(encode(precision, biases)));
    const DeviceMemory out(std::size_t{most_rows} * model.inner * number_bytes(precision));
    const DeviceMemory workspace(linear_workspace_bytes);
    for (const std::uint32_t rows : {most_rows, most_rows / 2, 2048U}) {
        for (const auto& [outputs, inputs] : {std::pair{3 * model.width, model.width},
                                              {model.width, model.width},
                                              {model.inner, model.width},
                                              {model.width, model.inner}}) {
            fmt::print(" {} x {} x {}\n", rows, outputs, inputs);
            const double flop = 2.0 * rows * outputs * inputs;
            const LinearGemm library(
                {.inputs = inputs, .outputs = outputs}, precision, rows,
                {in.as(), matrix.as(), library_bias.as(), out.as(), workspace.as(), linear_workspace_bytes});
            std::vector<Candidate> candidates{{"cuBLASLt", flop, [&](cudaStream_t s) { library.enqueue(s); }}};
            const std::size_t chosen = choose_gemm_tile(rows, outputs, inputs, 132);
            std::vector<Gemm> products;
            for (std::size_t tile = 0; tile < gemm_tiles.size(); ++tile) {
                products.emplace_back(GemmShape{rows, outputs, inputs}, precision,
                                      GemmMemory{in.as(), matrix.as(), bias.as<float>(), nullptr, out.as()},
                                      GemmOptions{.tile = tile, .chained = true});
            }
            for (std::size_t tile = 0; tile < gemm_tiles.size(); ++tile) {
                const GemmTile& of = gemm_tiles[tile];
                candidates.push_back({fmt::format("{}x{}{}{}", of.rows, of.columns,
                                                  of.cluster_rows * of.cluster_columns > 1 ? " in pairs" : "",
                                                  tile == chosen ? " *" : ""),
                                      flop,
                                      [&, tile](cudaStream_t s) { products[tile].enqueue(s); },
                                      {0}});
            }
            time_and_print(candidates, stream.handle(), 1000, 5);
        }
    }
}

int run(int argc, char** argv) {
    std::vector<Precision> precisions;
    bool with_products = false;
    bool with_long = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        const std::optional<Precision> precision = enum_of<Precision>(name, precision_names);
        with_long = with_long || name == "long";
        with_products = with_products || name == "products";
        if (name != "long" && name != "products" &&
            (!precision || *precision == Precision::certified || *precision == Precision::tf32x3)) {
            fmt::print(stderr, "usage: bench_decoder [fp32 | tf32 | fp16 | bf16 ...] [long] [products]\n");
            return 64;
        }
        if (precision) {
            precisions.push_back(*precision);
        }
    }
    if (precisions.empty()) {
        precisions = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32};
    }
    const std::unique_ptr<Device> device = make_cuda_device(0);
    CudaDevice& gpu = as_cuda(*device);
    const std::unique_ptr<Stream> stream = gpu.make_stream({});
    const Weights weights;
    fmt::print("{}: GPT-2 of 124M parameters, {} + {} tokens, greedy\n", gpu.name(), prompt_tokens, new_tokens);
    for (const Precision precision : precisions) {
        fmt::print("{}\n", name_of(precision));
        time_chunks(gpu, as_cuda(*stream), precision, weights);
        PassBench(gpu, precision, weights).print(as_cuda(*stream).handle());
        if (with_long) {
            fmt::print(" prompts of 64 to 512 tokens, 128 new ones\n");
            time_long(gpu, as_cuda(*stream), precision, weights);
        }
        if (with_products && decoder::is_narrow(precision)) {
            time_products(as_cuda(*stream), precision);
        }
    }
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    try {
        return sluice::bench::run(argc, argv);
    } catch (const sluice::Error& error) {
        fmt::print(stderr, "{}\n", sluice::render(error.text()));
        return static_cast<int>(error.code());
    }
}
