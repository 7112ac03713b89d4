// What decides the design of products and loops on a GPU, measured apart from models:
//   bench_probes tiles    each tile of Gemm at the shapes of models, * the chosen one: rate, clock and energy, beside
//                         cuBLASLt
//   bench_probes beside   a product on some multiprocessors while others read memory
//   bench_probes loop     what a round of a loop on the device costs, beside the same kernels without a loop
// All without an argument.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/ladder/cublas_peer.hpp"
#include "tools/bench/ladder/windows.hpp"
#include "tools/bench/probe_kernels.hpp"

namespace sluice::bench {
namespace {

constexpr double tera = 1e12;

/// A product of a model, with what follows it in the same kernel.
struct ProductOfModel {
    std::string_view name;
    GemmShape shape;
    bool residual = false;

    [[nodiscard]] constexpr double flop() const noexcept { return 2.0 * shape.rows * shape.columns * shape.depth; }
};

constexpr std::uint32_t prompt_rows = 135168;  // of 8,448 prompts of 16 tokens
constexpr std::uint32_t text_rows = 8448;
constexpr ProductOfModel products_of_models[] = {
    {"GRU, layer 0", {16896, 3072, 1024}},
    {"GRU, layer 1", {16896, 3072, 2048}},
    {"GRU, scores", {16896, 256, 1024}},
    {"GPT-2, prompts, attention", {prompt_rows, 2304, 768}},
    {"GPT-2, prompts, projection", {prompt_rows, 768, 768}, true},
    {"GPT-2, prompts, expansion", {prompt_rows, 3072, 768, Activation::gelu_tanh}},
    {"GPT-2, prompts, contraction", {prompt_rows, 768, 3072}, true},
    {"GPT-2, texts, attention", {text_rows, 2304, 768}},
    {"GPT-2, texts, projection", {text_rows, 768, 768}, true},
    {"GPT-2, texts, expansion", {text_rows, 3072, 768, Activation::gelu_tanh}},
    {"GPT-2, texts, contraction", {text_rows, 768, 3072}, true},
    {"classifier, fc1", {12096, 1024, 8704, Activation::relu}},
    {"square", {4096, 4096, 4096}},
    {"large square", {8192, 8192, 8192}},
};

/// Sets of random operands in bf16, more than the second-level cache holds.
class ProductOperands {
public:
    explicit ProductOperands(const ProductOfModel& product) {
        constexpr std::size_t more_than_cached = std::size_t{200} << 20U;
        constexpr std::size_t most_sets = 8;
        const GemmShape& shape = product.shape;
        const std::size_t a = std::size_t{shape.rows} * shape.depth;
        const std::size_t b = std::size_t{shape.columns} * shape.depth;
        const std::size_t out = std::size_t{shape.rows} * shape.columns;
        const std::size_t sets = std::min(most_sets, more_than_cached / ((a + b + out) * 2) + 1);
        const auto random = [](std::size_t count, float deviation, std::uint32_t seed) {
            return encode(Precision::bf16, normal(count, deviation, seed));
        };
        const std::vector<std::byte> a_values = random(a, 1, 1);
        const std::vector<std::byte> b_values = random(b, 1 / std::sqrt(static_cast<float>(shape.depth)), 2);
        const std::vector<std::byte> residual_values = random(product.residual ? out : 0, 1, 3);
        for (std::size_t i = 0; i < sets; ++i) {
            a_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(a_values)));
            b_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(b_values)));
            out_.push_back(std::make_unique<DeviceMemory>(2 * out));
            if (product.residual) {
                residuals_.push_back(std::make_unique<DeviceMemory>(std::span<const std::byte>(residual_values)));
            }
        }
        const std::vector<float> bias = normal(shape.columns, 0.5F, 4);
        bias_ = std::make_unique<DeviceMemory>(std::as_bytes(std::span(bias)));
        bias_of_library_ = std::make_unique<DeviceMemory>(std::span<const std::byte>(encode(Precision::bf16, bias)));
    }

    [[nodiscard]] std::size_t sets() const noexcept { return a_.size(); }
    [[nodiscard]] GemmMemory of(std::size_t set) const {
        return {.a = a_[set]->as(),
                .b = b_[set]->as(),
                .bias = bias_->as<float>(),
                .residual = residual(set),
                .out = out_[set]->as()};
    }
    [[nodiscard]] ladder::PeerMemory of_library(std::size_t set) const {
        return {.a = a_[set]->as(),
                .b = b_[set]->as(),
                .bias = bias_of_library_->as(),
                .residual = residual(set),
                .out = out_[set]->as()};
    }

private:
    [[nodiscard]] const void* residual(std::size_t set) const {
        return residuals_.empty() ? nullptr : residuals_[set]->as();
    }

    std::vector<std::unique_ptr<DeviceMemory>> a_, b_, out_, residuals_;
    std::unique_ptr<DeviceMemory> bias_, bias_of_library_;
};

std::string name_of_tile(const GemmTile& tile) {
    std::string name = fmt::format("{} x {}", tile.rows, tile.columns);
    if (tile.cluster_rows * tile.cluster_columns > 1) {
        name += fmt::format(", cluster {} x {}", tile.cluster_rows, tile.cluster_columns);
    }
    return tile.ping_pong ? name + ", ping-pong" : name;
}

std::string number_or_dash(std::optional<double> value, double by) {
    return value ? fmt::format("{:.2f}", *value * by) : "-";
}

void print_window(const std::string& name, const ladder::Window& window, double flop) {
    fmt::print("  {:36} {:6.0f} TFLOP/s  {:>8} MHz  {:>6} J a TFLOP\n", name, flop / window.seconds_a_call / tera,
               window.clock_mhz ? fmt::format("{:.0f}", *window.clock_mhz) : "-",
               number_or_dash(window.joules_a_call, tera / flop));
    std::fflush(stdout);
}

/// The products of a tile, one for each set of operands.
std::vector<Gemm> make_products(const ProductOfModel& product, const ProductOperands& operands,
                                std::optional<std::size_t> tile) {
    std::vector<Gemm> products;
    for (std::size_t set = 0; set < operands.sets(); ++set) {
        products.emplace_back(product.shape, Precision::bf16, operands.of(set), GemmOptions{.tile = tile});
    }
    return products;
}

void time_tiles(cudaStream_t stream) {
    constexpr double seconds = 0.5;  // of each of the windows that the chosen tile and the library take turns in
    constexpr double seconds_of_tile = 0.2;
    double sum_of_logarithms = 0;
    int compared = 0;
    for (const ProductOfModel& product : products_of_models) {
        const GemmShape& shape = product.shape;
        fmt::print("{}: {} x {} x {}, with bias{}{}\n", product.name, shape.rows, shape.columns, shape.depth,
                   shape.activation == Activation::gelu_tanh ? ", GELU"
                   : shape.activation == Activation::relu    ? ", ReLU"
                                                             : "",
                   product.residual ? " and residual" : "");
        const ProductOperands operands(product);
        ladder::Windows windows(operands.sets(), stream);
        const ladder::CublasPeer library({.m = shape.rows,
                                          .n = shape.columns,
                                          .k = shape.depth,
                                          .precision = Precision::bf16,
                                          .bias = true,
                                          .activation = shape.activation,
                                          .residual = product.residual},
                                         operands.of_library(0), stream);
        const std::vector<Gemm> chosen = make_products(product, operands, std::nullopt);
        const std::vector<ladder::Window> seen = windows.in_turn(
            [&](std::size_t set, cudaStream_t s) { chosen[set].enqueue(s); },
            [&](std::size_t set, cudaStream_t s) { library.enqueue(operands.of_library(set), s); }, seconds);
        const double ratio = seen[1].seconds_a_call / seen[0].seconds_a_call;
        print_window(fmt::format("cuBLASLt, the best of {}", library.tried()), seen[1], product.flop());
        print_window(name_of_tile(chosen[0].tile()), seen[0], product.flop());
        fmt::print("    {:.1f} % of cuBLASLt\n", 100 * ratio);
        if (product.name.starts_with("G")) {
            sum_of_logarithms += std::log(ratio);
            ++compared;
        }
        for (std::size_t tile = 0; tile < gemm_tiles.size(); ++tile) {
            if (gemm_tiles[tile] != chosen[0].tile()) {
                const std::vector<Gemm> products = make_products(product, operands, tile);
                print_window("  " + name_of_tile(gemm_tiles[tile]),
                             windows.sustained([&](std::size_t set, cudaStream_t s) { products[set].enqueue(s); },
                                               seconds_of_tile),
                             product.flop());
            }
        }
    }
    fmt::print("geometric mean of the {} products of GRU and GPT-2: {:.1f} % of cuBLASLt\n", compared,
               100 * std::exp(sum_of_logarithms / compared));
}

/// Two streams, the second of which starts and ends with the first one's work.
class Fork {
public:
    Fork() {
        check_cuda(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), "cudaStreamCreate");
        for (cudaEvent_t& event : events_) {
            check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
        }
    }
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    ~Fork() {
        for (const cudaEvent_t event : events_) {
            cudaEventDestroy(event);
        }
        cudaStreamDestroy(second_);
    }

    void run(const Launch& first, const Launch& second, cudaStream_t stream) const {
        check_cuda(cudaEventRecord(events_[0], stream), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(second_, events_[0]), "cudaStreamWaitEvent");
        first(stream);
        second(second_);
        check_cuda(cudaEventRecord(events_[1], second_), "cudaEventRecord");
        check_cuda(cudaStreamWaitEvent(stream, events_[1]), "cudaStreamWaitEvent");
    }

private:
    cudaStream_t second_ = nullptr;
    std::array<cudaEvent_t, 2> events_{};
};

void time_beside(cudaStream_t stream) {
    constexpr ProductOfModel product_of_model{"GPT-2, prompts, expansion", {prompt_rows, 3072, 768}};
    constexpr GemmShape shape = product_of_model.shape;
    constexpr double flop = product_of_model.flop();
    constexpr std::size_t memory_bytes = std::size_t{4} << 30U;
    int device = 0;
    int multiprocessors = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "cudaDeviceGetAttribute");
    const auto all = static_cast<std::uint32_t>(multiprocessors);
    const ProductOperands operands(product_of_model);
    DeviceMemory memory(memory_bytes);
    memory.poison();
    const Fork fork;
    fmt::print("a product of {} x {} x {} beside reads of memory, of {} multiprocessors\n", shape.rows, shape.columns,
               shape.depth, all);
    for (const std::uint32_t readers : {0U, 8U, 12U, 16U, 20U, 24U, 32U}) {
        const Gemm product(shape, Precision::bf16, operands.of(0), {.multiprocessors = all - readers});
        const Launch multiply = [&](cudaStream_t s) { product.enqueue(s); };
        if (readers == 0) {
            const std::array<Launch, 1> alone{multiply};
            const double us = time_in_turn(alone, stream)[0].median_us;
            fmt::print("  {:3} for reads: product {:8.1f} us, {:4.0f} TFLOP/s\n", 0, us, flop / us * 1e-6);
            continue;
        }
        // As many bytes as these multiprocessors read in the product's time: the two end together.
        const std::array<Launch, 2> alone{multiply, [&](cudaStream_t s) {
                                              enqueue_memory_read({memory.as<std::byte>(), memory_bytes}, readers, s);
                                          }};
        const std::vector<Timing> apart = time_in_turn(alone, stream);
        const double share = std::min(1.0, apart[0].median_us / apart[1].median_us);
        const std::size_t bytes = static_cast<std::size_t>(share * memory_bytes) / 16 * 16;
        const Launch read = [&](cudaStream_t s) { enqueue_memory_read({memory.as<std::byte>(), bytes}, readers, s); };
        const std::array<Launch, 3> launches{multiply, read, [&](cudaStream_t s) { fork.run(multiply, read, s); }};
        const std::vector<Timing> times = time_in_turn(launches, stream);
        const double both = times[2].median_us;
        fmt::print(
            "  {:3} for reads: product {:8.1f} us, {:4.0f} TFLOP/s; reads {:8.1f} us, {:5.2f} TB/s; both {:8.1f} "
            "us, {:4.0f} TFLOP/s and {:5.2f} TB/s\n",
            readers, times[0].median_us, flop / times[0].median_us * 1e-6, times[1].median_us,
            static_cast<double>(bytes) / times[1].median_us * 1e-6, both, flop / both * 1e-6,
            static_cast<double>(bytes) / both * 1e-6);
        std::fflush(stdout);
    }
}

void time_loop(CudaDevice& gpu, CudaStream& stream) {
    constexpr std::uint32_t rounds = 256;
    const Buffer memory = gpu.allocate(MemorySpace::device, sizeof(Countdown));
    auto* const countdown = memory.as<Countdown>().data();
    fmt::print("kernels that do nothing, on 132 blocks, {} rounds of each number\n", rounds);
    for (const std::uint32_t kernels : {1U, 2U, 4U, 8U, 16U, 64U}) {
        for (const bool chained : {false, true}) {
            const auto body = [&] {
                for (std::uint32_t i = 0; i < kernels; ++i) {
                    enqueue_nothing(132, chained, stream.handle());
                }
            };
            std::unique_ptr<CapturedWork> looped;
            std::unique_ptr<CapturedWork> straight;
            const auto round = [&] {
                body();
                enqueue_count_down(countdown, stream.handle());
            };
            const auto loop = [&] {
                enqueue_begin_countdown(countdown, rounds, stream.handle());
                stream.loop(&countdown->more, rounds, round);
            };
            const auto line = [&] {
                enqueue_begin_countdown(countdown, rounds, stream.handle());
                for (std::uint32_t i = 0; i < rounds; ++i) {
                    round();
                }
            };
            const std::array<Launch, 2> launches{[&](cudaStream_t) { stream.launch(looped, loop); },
                                                 [&](cudaStream_t) { stream.launch(straight, line); }};
            const std::vector<Timing> times = time_in_turn(launches, stream.handle());
            fmt::print(
                "  {:2} kernels and the count, {:9}: a round of the loop {:6.2f} us, of the same graph without a "
                "loop {:6.2f} us\n",
                kernels, chained ? "chained" : "one by one", times[0].median_us / rounds, times[1].median_us / rounds);
        }
    }
}

int run(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    constexpr std::string_view known[] = {"", "tiles", "beside", "loop"};
    if (argc > 2 || std::ranges::find(known, which) == std::end(known)) {
        fmt::print(stderr, "usage: bench_probes [tiles | beside | loop]\n");
        return 64;
    }
    const std::unique_ptr<Device> device = make_cuda_device(0);
    CudaDevice& gpu = as_cuda(*device);
    const std::unique_ptr<Stream> stream = gpu.make_stream({});
    fmt::print("{}\n", gpu.name());
    if (which.empty() || which == "tiles") {
        time_tiles(as_cuda(*stream).handle());
    }
    if (which.empty() || which == "beside") {
        time_beside(as_cuda(*stream).handle());
    }
    if (which.empty() || which == "loop") {
        time_loop(gpu, as_cuda(*stream));
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
