#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/conv_gemm.hpp"
#include "kernels/cuda/linear_gemm.hpp"
#include "tools/bench/bench_kernels.hpp"
#include "tools/bench/classifier_on_gpu.hpp"
#include "tools/bench/cuda_bench.hpp"

namespace sluice::bench {
namespace {

/// A linear layer is a convolution of one position and one tap.
ConvGemmShape as_convolution(const LinearGemmShape& shape) {
    return {.length = 1, .channels = shape.inputs, .outputs = shape.outputs, .taps = 1, .relu = shape.relu};
}

}  // namespace

void time_linears(const CudaDevice& gpu, Precision precision, cudaStream_t stream) {
    if (precision == Precision::fp32 || precision == Precision::tf32x3 ||
        gpu.instructions() != MatrixInstructions::wgmma) {
        fmt::print("linear layers: cuBLASLt alone\n");
        return;
    }
    struct Case {
        const char* name;
        LinearGemmShape shape;
        std::uint32_t items;
    };
    const Case cases[] = {{"fc1", fc1, 1024}, {"fc1", fc1, 3584}, {"fc1", fc1, 4096}, {"fc2", fc2, 3584}};
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
        const Candidate candidates[] = {
            {"cuBLASLt", flop, [&](cudaStream_t s) { library.enqueue(s); }},
            {"wgmma", flop, ours, {0}},
        };
        fmt::print("{} items {} N {} K {}\n", c.name, c.items, c.shape.outputs, c.shape.inputs);
        time_and_print(candidates, stream);
        const std::vector<float> expected = decode(precision, library_out.content());
        const std::vector<float> got = decode(precision, our_out.content());
        double off = 0;
        double norm = 0;
        for (std::size_t i = 0; i < out; ++i) {
            off += std::pow(static_cast<double>(got[i]) - static_cast<double>(expected[i]), 2);
            norm += std::pow(static_cast<double>(expected[i]), 2);
        }
        fmt::print("  they differ by {:.1e}\n", std::sqrt(off / norm));
    }
}

}  // namespace sluice::bench
