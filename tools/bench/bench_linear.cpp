#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/bench_kernels.hpp"
#include "tools/bench/classifier_on_gpu.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {
namespace {

/// A linear layer is a convolution of one position and one tap.
ConvGemmShape as_convolution(const LinearGemmShape& shape) {
    return {.length = 1, .channels = shape.inputs, .outputs = shape.outputs, .taps = 1, .relu = shape.relu};
}

/// ||got - expected|| / ||expected||
double difference(std::span<const float> got, std::span<const float> expected) {
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        off += std::pow(static_cast<double>(got[i]) - static_cast<double>(expected[i]), 2);
        norm += std::pow(static_cast<double>(expected[i]), 2);
    }
    return std::sqrt(off / norm);
}

}  // namespace

void time_linears(const CudaDevice& gpu, Precision precision, cudaStream_t stream) {
    if (precision == Precision::fp32 || precision == Precision::tf32x3 ||
        gpu.instructions() != MatrixInstructions::wgmma) {
        fmt::print("linear layers: cuBLASLt only\n");
        return;
    }
    struct Case {
        const char* name;
        LinearGemmShape shape;
        std::uint32_t items;
    };
    const Case cases[] = {{"fc1", fc1, 1024},  {"fc1", fc1, 3584}, {"fc1", fc1, 4096},
                          {"fc1", fc1, 12096}, {"fc2", fc2, 3584}, {"fc2", fc2, 12096}};
    DeviceMemory workspace(linear_workspace_bytes);
    for (const Case& c : cases) {
        const std::size_t in = std::size_t{c.items} * c.shape.inputs;
        const std::size_t weights = std::size_t{c.shape.outputs} * c.shape.inputs;
        const std::size_t out = std::size_t{c.items} * c.shape.outputs;
        const float scale = 1.0F / std::sqrt(static_cast<float>(c.shape.inputs));
        const DeviceMemory in_memory(std::span<const std::byte>(encode(precision, normal(in, 1.0F, 3))));
        const DeviceMemory weight_memory(std::span<const std::byte>(encode(precision, normal(weights, scale, 4))));
        const std::vector<float> bias = normal(c.shape.outputs, 0.5F, 5);
        const DeviceMemory library_bias(std::span<const std::byte>(encode(precision, bias)));
        const DeviceMemory our_bias(std::as_bytes(std::span(bias)));
        DeviceMemory library_out(out * element_bytes(precision));
        DeviceMemory our_out(out * element_bytes(precision));
        const LinearGemm library(c.shape, precision, c.items,
                                 {in_memory.as(), weight_memory.as(), library_bias.as(), library_out.as(),
                                  workspace.as(), linear_workspace_bytes});
        const double flop = 2.0 * static_cast<double>(in) * c.shape.outputs;
        const Launch ours = convolution(as_convolution(c.shape), precision, MatrixInstructions::wgmma, c.items,
                                        {in_memory.as(), weight_memory.as(), our_bias.as<float>(), our_out.as()}, {});
        const DeviceMemory product_out(out * element_bytes(precision));
        std::optional<Gemm> product;
        if (precision == Precision::bf16 || precision == Precision::fp16) {
            product.emplace(GemmShape{.rows = c.items,
                                      .columns = c.shape.outputs,
                                      .depth = c.shape.inputs,
                                      .activation = c.shape.relu ? Activation::relu : Activation::none},
                            precision,
                            GemmMemory{.a = in_memory.as(),
                                       .b = weight_memory.as(),
                                       .bias = our_bias.as<float>(),
                                       .residual = nullptr,
                                       .out = product_out.as()});
        }
        std::vector<Candidate> candidates{{"cuBLASLt", flop, [&](cudaStream_t s) { library.enqueue(s); }},
                                          {"as a convolution", flop, ours, {0}}};
        if (product) {
            candidates.push_back({"product", flop, [&](cudaStream_t s) { product->enqueue(s); }, {0}});
        }
        fmt::print("{} items {} N {} K {}\n", c.name, c.items, c.shape.outputs, c.shape.inputs);
        time_and_print(candidates, stream);
        const std::vector<float> expected = decode(precision, library_out.content());
        fmt::print("  they differ by {:.1e}", difference(decode(precision, our_out.content()), expected));
        if (product) {
            fmt::print(" and {:.1e}", difference(decode(precision, product_out.content()), expected));
        }
        fmt::print("\n");
    }
}

void time_invariant_linears(Precision precision, cudaStream_t stream) {
    if (precision == Precision::tf32x3) {
        fmt::print("linear layers: tf32x3 computes them in tf32\n");
        return;
    }
    struct Case {
        const char* name;
        LinearGemmShape shape;
    };
    const Case cases[] = {{"fc1", fc1},
                          {"fc2", fc2},
                          {"1024 to 3072", {1024, 3072}},
                          {"768 to 2304", {768, 2304}},
                          {"3072 to 768", {3072, 768}}};
    constexpr std::uint32_t numbers_of_items[] = {1, 8, 64, 512, 1024, 3584, 4096, 8448};
    constexpr std::size_t most = 8448;
    const DeviceMemory workspace(linear_workspace_bytes);
    for (const Case& c : cases) {
        const std::size_t weights = std::size_t{c.shape.outputs} * c.shape.inputs;
        const float scale = 1.0F / std::sqrt(static_cast<float>(c.shape.inputs));
        const DeviceMemory in(std::span<const std::byte>(encode(precision, normal(most * c.shape.inputs, 1.0F, 3))));
        const DeviceMemory weight_memory(std::span<const std::byte>(encode(precision, normal(weights, scale, 4))));
        const DeviceMemory bias(std::span<const std::byte>(encode(precision, normal(c.shape.outputs, 0.5F, 5))));
        const DeviceMemory out(most * c.shape.outputs * element_bytes(precision));
        LinearGemmShape invariant_shape = c.shape;
        invariant_shape.batch_invariant = true;
        fmt::print("{}: N {} K {}, by cuBLASLt's choice for the number of items, and batch-invariant\n", c.name,
                   c.shape.outputs, c.shape.inputs);
        for (const std::uint32_t items : numbers_of_items) {
            const LinearGemm chosen(
                c.shape, precision, items,
                {in.as(), weight_memory.as(), bias.as(), out.as(), workspace.as(), linear_workspace_bytes});
            const LinearGemm invariant(invariant_shape, precision, items,
                                       {in.as(), weight_memory.as(), bias.as(), out.as(), nullptr, 0});
            const Launch launches[] = {[&](cudaStream_t s) { chosen.enqueue(s); },
                                       [&](cudaStream_t s) { invariant.enqueue(s); }};
            const std::vector<Timing> times = time_in_turn(launches, stream);
            const double flop = 2.0 * items * static_cast<double>(weights);
            fmt::print("  {:5} items {:9.2f} us {:5.0f} TFLOP/s, {:9.2f} us {:5.0f} TFLOP/s, {:.2f} times\n", items,
                       times[0].median_us, flop / times[0].median_us * 1e-6, times[1].median_us,
                       flop / times[1].median_us * 1e-6, times[1].median_us / times[0].median_us);
        }
    }
}

}  // namespace sluice::bench
