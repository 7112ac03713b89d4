// Texts by a GRU of 1024 hidden units and 2 layers on a GPU, in each precision: whole chunks, then what a step of all
// rows takes, beside cuBLASLt's product of the same rows with the weights of one layer's gates, in the same run.
//   bench_generator [--tables N] [PRECISION ...] [mma]
// N: see Sampling::prefix_tables; mma: as on GPUs without wgmma
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/generator/steps.hpp"
#include "kernels/kernels.hpp"
#include "tools/bench/bench_main.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {
namespace {

constexpr GruShape network{.embedding = 512, .hidden = 1024, .layers = 2};
constexpr std::uint32_t max_length = 10;
constexpr std::uint32_t rows = 67584;  // that step together
constexpr std::uint32_t gates = 3 * network.hidden;
constexpr double flop_of_gates = 2.0 * gates * network.hidden;  // per row and matrix
constexpr double flop_of_scores = 2.0 * gru_symbols * network.hidden;

/// Random weights; no text ends before max_length.
class Weights {
public:
    Weights() {
        embedding_ = normal(std::size_t{gru_symbols} * network.embedding, 1, 1);
        linear_ = normal(std::size_t{gru_symbols} * network.hidden, 0.05F, 2);
        linear_bias_ = normal(gru_symbols, 0.1F, 3);
        linear_bias_[0] = -60;
        for (std::uint32_t layer = 0; layer < network.layers; ++layer) {
            const std::size_t inputs = layer == 0 ? network.embedding : network.hidden;
            for (const std::size_t size :
                 {gates * inputs, std::size_t{gates} * network.hidden, std::size_t{gates}, std::size_t{gates}}) {
                tensors_.push_back(normal(size, 0.03F, 10 + static_cast<std::uint32_t>(tensors_.size())));
            }
        }
    }

    [[nodiscard]] GruWeights of_layers(std::uint32_t layers) const {
        GruWeights weights{.embedding = embedding_, .linear = linear_, .linear_bias = linear_bias_};
        for (std::size_t i = 0; i < std::size_t{4} * layers; i += 4) {
            weights.layers.push_back({tensors_[i], tensors_[i + 1], tensors_[i + 2], tensors_[i + 3]});
        }
        return weights;
    }

private:
    std::vector<float> embedding_, linear_, linear_bias_;
    std::vector<std::vector<float>> tensors_;
};

/// A generator with a chunk of items without prefix or draws, as a graph.
class Chunk {
public:
    Chunk(CudaDevice& gpu, const GeneratorLayer& layer, Stream& stream, std::uint32_t items)
        : stream_(stream),
          items_(items),
          in_(gpu.allocate(MemorySpace::device, std::size_t{items} * generator_io(max_length).input_bytes)),
          out_(gpu.allocate(MemorySpace::device, std::size_t{items} * generator_io(max_length).output_bytes)),
          generator_(layer.make_generator(gpu, items)) {
        const std::size_t bytes = generator_io(max_length).input_bytes;
        std::vector<std::byte> in(items * bytes);
        for (std::uint32_t i = 0; i < items; ++i) {
            const TextStart start{.number = i};
            std::memcpy(&in[i * bytes], &start, sizeof start);
        }
        copy_now(in_.bytes(), in);
    }

    void launch() {
        const auto work = [&] { generator_->enqueue(stream_, {.items = items_}, in_.bytes(), out_.bytes()); };
        stream_.launch(captured_, work);
    }

    /// Checks that every text has its maximum length: otherwise the times are of different work.
    void check() {
        launch();
        stream_.record().wait();
        const TextCounts counts = generator_->counts();
        if (counts.texts == 0 || counts.new_tokens != counts.texts * max_length) {
            throw ContractViolation("bench_generator: texts that have ended early");
        }
    }

private:
    Stream& stream_;
    std::uint32_t items_;
    Buffer in_;
    Buffer out_;
    std::unique_ptr<Generator> generator_;
    std::unique_ptr<CapturedWork> captured_;
};

void time_chunks(CudaDevice& gpu, CudaStream& stream, Precision precision, const Weights& weights,
                 std::uint32_t tables) {
    PackedWeights packed;
    const auto layer = generator_kernels_of(DeviceKind::cuda, precision)
                           .gru(network, weights.of_layers(network.layers),
                                {.max_length = max_length, .seed = 1, .prefix_tables = tables}, packed);
    packed.pack(NodeMemory::of_process(packed.bytes()), {}, 8);
    for (const std::uint32_t items : {std::uint32_t{1024}, rows / 4, 2 * rows, 16 * rows}) {
        if (precision == Precision::fp32 && items > 2 * rows) {
            continue;  // takes seconds and adds nothing
        }
        Chunk chunk(gpu, *layer, stream, items);
        chunk.check();
        const std::array<Launch, 1> launches{[&](cudaStream_t) { chunk.launch(); }};
        const Timing time = time_in_turn(launches, stream.handle(), 5000, 5)[0];
        fmt::print("  {:7} texts {:10.1f} us, {:5.2f} M/s ({:.2f} to {:.2f})\n", items, time.median_us,
                   items / time.median_us, items / time.most_us, items / time.least_us);
    }
}

/// Operands and kernels of a step of all rows.
class StepBench {
public:
    StepBench(CudaDevice& gpu, Precision precision, const Weights& weights, std::uint32_t layers)
        : batch_(gpu.allocate(MemorySpace::device, sizeof(generator::Batch))),
          symbols_(gpu.allocate(MemorySpace::device, rows)),
          scores_(gpu.allocate(MemorySpace::device, std::size_t{rows} * gru_symbols * sizeof(float))) {
        const GruShape shape{.embedding = network.embedding, .hidden = network.hidden, .layers = layers};
        const generator::GeneratorWeights packer(shape, precision, weights.of_layers(layers), packed_);
        packed_.pack(NodeMemory::of_process(packed_.bytes()), {}, 8);
        weights_ = packer.on(gpu);
        memory_.batch = batch_.as<generator::Batch>().data();
        memory_.symbols = symbols_.as<std::uint8_t>().data();
        memory_.scores = scores_.as<float>().data();
        memory_.most_rows = rows;
        steps_ = generator::make_steps(gpu, shape, precision, weights_, rows, &memory_.batch->active_rows);
        std::vector<std::uint8_t> symbols(rows);
        for (std::uint32_t i = 0; i < rows; ++i) {
            symbols[i] = static_cast<std::uint8_t>(i * 7);
        }
        copy_now(symbols_.bytes(), std::as_bytes(std::span(symbols)));
        generator::enqueue_active_rows(memory_, rows, nullptr);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }

    void enqueue(cudaStream_t stream) {
        steps_->enqueue(memory_, turn_, stream);
        turn_ = 1 - turn_;
    }

private:
    PackedWeights packed_;
    generator::WeightsOnDevice weights_;
    Buffer batch_;
    Buffer symbols_;
    Buffer scores_;
    generator::Memory memory_{};
    std::unique_ptr<generator::Steps> steps_;
    std::uint32_t turn_ = 0;
};

void time_steps(CudaDevice& gpu, CudaStream& stream, Precision precision, const Weights& weights) {
    StepBench one(gpu, precision, weights, 1);
    StepBench two(gpu, precision, weights, 2);
    const Precision of_library =
        precision == Precision::tf32x3 ? Precision::fp32 : precision;  // cuBLASLt has no tf32x3
    const DeviceMemory in(
        std::span<const std::byte>(encode(of_library, normal(std::size_t{rows} * network.hidden, 0.5F, 3))));
    const DeviceMemory matrix(
        std::span<const std::byte>(encode(of_library, normal(std::size_t{gates} * network.hidden, 0.03F, 4))));
    const DeviceMemory bias(std::span<const std::byte>(encode(of_library, normal(gates, 0.1F, 5))));
    const DeviceMemory out(std::size_t{rows} * gates * element_bytes(of_library));
    const DeviceMemory workspace(linear_workspace_bytes);
    const LinearGemm library({.inputs = network.hidden, .outputs = gates}, of_library, rows,
                             {in.as(), matrix.as(), bias.as(), out.as(), workspace.as(), linear_workspace_bytes});
    const Candidate candidates[] = {
        {of_library == precision ? "cuBLASLt, gates" : "cuBLASLt in fp32", rows * flop_of_gates,
         [&](cudaStream_t s) { library.enqueue(s); }},
        {"step, 1 layer", rows * (flop_of_gates + flop_of_scores), [&](cudaStream_t s) { one.enqueue(s); }, {0}},
        {"step, 2 layers", rows * (3 * flop_of_gates + flop_of_scores), [&](cudaStream_t s) { two.enqueue(s); }, {0}},
    };
    time_and_print(candidates, stream.handle());
}

/// nullopt: not a precision of generators.
std::optional<Precision> precision_of(std::string_view name) {
    const std::optional<Precision> precision = enum_of<Precision>(name);
    return precision == Precision::certified ? std::nullopt : precision;
}

int run(int argc, char** argv) {
    std::vector<Precision> precisions;
    std::uint32_t tables = Sampling{}.prefix_tables;
    CudaDeviceOptions options;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "mma") {  // as on GPUs without wgmma
            options.instructions = MatrixInstructions::mma;
            continue;
        }
        if (argv[i] == std::string_view("--tables") && i + 1 < argc) {
            const std::string_view number = argv[++i];
            const bool good = std::from_chars(number.data(), number.data() + number.size(), tables).ptr ==
                              number.data() + number.size();
            if (!good || tables == 0 || tables > Sampling{}.prefix_tables) {
                fmt::print(stderr, "bench_generator: --tables: expected 1 to {}, got {}\n", Sampling{}.prefix_tables,
                           number);
                return 64;
            }
            continue;
        }
        const std::optional<Precision> precision = precision_of(argv[i]);
        if (!precision) {
            fmt::print(stderr, "usage: bench_generator [--tables N] [fp32 | tf32x3 | tf32 | fp16 | bf16 ...] [mma]\n");
            return 64;
        }
        precisions.push_back(*precision);
    }
    if (precisions.empty()) {
        precisions = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp32};
    }
    const std::unique_ptr<Device> device = make_cuda_device(0, options);
    CudaDevice& gpu = as_cuda(*device);
    const std::unique_ptr<Stream> stream = gpu.make_stream({});
    const Weights weights;
    fmt::print("{}: a GRU of {} hidden, {} layers, texts of {} bytes, {} rows, {} tables of prefixes\n", gpu.name(),
               network.hidden, network.layers, max_length, rows, tables);
    for (const Precision precision : precisions) {
        fmt::print("{}\n", name_of(precision));
        time_steps(gpu, as_cuda(*stream), precision, weights);
        time_chunks(gpu, as_cuda(*stream), precision, weights, tables);
    }
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
