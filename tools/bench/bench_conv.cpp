#include <fmt/format.h>

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/classifier/conv_gemm.hpp"
#include "kernels/cuda/classifier/conv_simt.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "tools/bench/bench_kernels.hpp"
#include "tools/bench/classifier_on_gpu.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/mma_limit.hpp"

namespace sluice::bench {
namespace {

/// A convolution's operands on host and device, and memory for its result.
struct Operands {
    ConvGemmShape shape;
    Precision precision;
    std::uint32_t items;
    std::vector<float> in;
    std::vector<float> weights;
    std::vector<float> bias;
    DeviceMemory in_memory;
    DeviceMemory weight_memory;
    DeviceMemory bias_memory;
    DeviceMemory out_memory;

    Operands(const ConvGemmShape& s, Precision p, std::uint32_t n, std::uint32_t seed)
        : shape(s),
          precision(p),
          items(n),
          in(decode(p, encode(p, normal(std::size_t{n} * s.length * s.channels, 1.0F, seed)))),
          weights(decode(p, encode(p, normal(std::size_t{s.outputs} * s.channels * s.taps,
                                             1.0F / std::sqrt(static_cast<float>(s.channels * s.taps)), seed + 1)))),
          bias(normal(s.outputs, 0.5F, seed + 2)),
          in_memory(std::span<const std::byte>(encode(p, in, s.channels))),
          weight_memory(std::span<const std::byte>(pack_conv_weights(s, p, weights))),
          bias_memory(std::as_bytes(std::span(bias))),
          out_memory(out_elements() * element_bytes(p)) {}

    [[nodiscard]] std::size_t out_elements() const {
        return std::size_t{items} * (shape.positions() / shape.pool) * shape.outputs;
    }
    [[nodiscard]] ConvGemmMemory memory() const {
        return {in_memory.as(), weight_memory.as(), bias_memory.as<float>(), out_memory.as()};
    }
    [[nodiscard]] double flop() const {
        return 2.0 * items * shape.positions() * shape.outputs * shape.channels * shape.taps;
    }
    /// One output, computed in double.
    [[nodiscard]] double reference(std::size_t item, std::size_t q, std::size_t o) const {
        double best = -INFINITY;
        for (std::size_t p = q * shape.pool; p < (q + 1) * shape.pool; ++p) {
            double sum = static_cast<double>(bias[o]);
            for (std::size_t k = 0; k < shape.taps; ++k) {
                const float* x = &in[(item * shape.length + p + k) * shape.channels];
                for (std::size_t c = 0; c < shape.channels; ++c) {
                    sum += static_cast<double>(x[c]) *
                           static_cast<double>(weights[(o * shape.channels + c) * shape.taps + k]);
                }
            }
            best = std::max(best, sum);
        }
        return shape.relu ? std::max(best, 0.0) : best;
    }
};

double error_bound(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return 5e-3;
        case Precision::tf32x3:
            return 2e-5;
        case Precision::fp32:
            return 2e-6;
        default:
            return 1e-3;
    }
}

/// Relative error, by norm, of samples of the result; NaN if an element was not written.
double relative_error(const Operands& operands, std::size_t samples) {
    const std::vector<float> out = decode(operands.precision, operands.out_memory.content(), operands.shape.outputs);
    for (const float value : out) {
        if (std::isnan(value)) {
            return NAN;
        }
    }
    const ConvGemmShape& shape = operands.shape;
    const std::size_t pooled = shape.positions() / shape.pool;
    std::mt19937 engine(7);
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < samples; ++i) {
        const std::size_t o = engine() % shape.outputs;
        const std::size_t q = i % 4 == 0 ? (i % 8 == 0 ? 0 : pooled - 1) : engine() % pooled;
        const std::size_t item = engine() % operands.items;
        const double expected = operands.reference(item, q, o);
        const double got = static_cast<double>(out[(item * pooled + q) * shape.outputs + o]);
        off += (got - expected) * (got - expected);
        norm += expected * expected;
    }
    return std::sqrt(off / norm);
}

}  // namespace

Launch convolution(const ConvGemmShape& shape, Precision precision, MatrixInstructions instructions,
                   std::uint32_t items, const ConvGemmMemory& memory, ConvGemmOptions options) {
    if (precision == Precision::fp32) {
        return [items, conv = ConvSimt(shape, items, memory)](cudaStream_t s) { conv.enqueue(items, s); };
    }
    options.instructions = instructions;
    return [conv = ConvGemm(shape, precision, items, memory, options)](cudaStream_t s) { conv.enqueue(s); };
}

bool check_convolutions(const CudaDevice& gpu, Precision precision) {
    struct Case {
        const char* name;
        ConvGemmShape shape;
        std::uint32_t items;
    };
    const Case cases[] = {{"conv2", conv2, 5},
                          {"conv2, one item", conv2, 1},
                          {"conv3", conv3, 7},
                          {"conv6", conv6, 300},
                          {"conv2, many", conv2, 151},
                          {"one tap", {.length = 5, .channels = 64, .outputs = 512, .taps = 1, .relu = true}, 201}};
    const double bound = error_bound(precision);
    bool fine = true;
    for (const Case& c : cases) {
        Operands operands(c.shape, precision, c.items, 11);
        convolution(c.shape, precision, gpu.instructions(), c.items, operands.memory(), {})(nullptr);
        check_cuda(cudaDeviceSynchronize(), "convolution");
        const double error = relative_error(operands, 2000);
        const bool good = error < bound;
        fmt::print("check {:16} items {:4}: error {:.2e} {}\n", c.name, c.items, error, good ? "ok" : "WRONG");
        fine = fine && good;
    }
    return fine;
}

void time_convolutions(const CudaDevice& gpu, Precision precision, cudaStream_t stream) {
    struct Case {
        const char* name;
        ConvGemmShape shape;
        std::uint32_t items;
    };
    const Case cases[] = {{"conv2", conv2, 226}, {"conv2", conv2, 512}, {"conv2", conv2, 904}, {"conv3", conv3, 226},
                          {"conv3", conv3, 512}, {"conv3", conv3, 904}, {"conv6", conv6, 904}};
    DeviceMemory workspace(linear_workspace_bytes);
    const MmaLimit limit(precision);
    for (const Case& c : cases) {
        const Operands operands(c.shape, precision, c.items, 5);
        const std::uint32_t rows = c.items * c.shape.positions();
        const std::uint32_t k = c.shape.channels * c.shape.taps;
        const std::size_t matrix_bytes = std::size_t{rows} * k * element_bytes(precision);
        DeviceMemory a(matrix_bytes);
        a.set(encode(precision, normal(3'999'968, 1.0F, 3)));
        const DeviceMemory d(std::size_t{rows} * c.shape.outputs * element_bytes(precision));
        const LinearGemm library(
            {.inputs = k, .outputs = c.shape.outputs}, precision, rows,
            {a.as(), operands.weight_memory.as(), nullptr, d.as(), workspace.as(), linear_workspace_bytes});
        constexpr std::size_t cublas = 0;
        constexpr std::size_t registers = 1;
        std::vector<Candidate> candidates{{"cuBLAS", operands.flop(), [&](cudaStream_t s) { library.enqueue(s); }}};
        const auto by = [&](MatrixInstructions instructions, const ConvGemmOptions& options) {
            return convolution(c.shape, precision, instructions, c.items, operands.memory(), options);
        };
        if (precision == Precision::fp32) {
            candidates.push_back({"fp32", operands.flop(), by(gpu.instructions(), {}), {cublas}});
        } else {
            candidates.push_back({"mma's limit", limit.flop(), [&](cudaStream_t s) { limit.enqueue(s); }});
            candidates.push_back({"mma", operands.flop(), by(MatrixInstructions::mma, {}), {cublas, registers}});
            if (gpu.instructions() == MatrixInstructions::wgmma) {
                const auto wgmma = MatrixInstructions::wgmma;
                candidates.push_back({"wgmma", operands.flop(), by(wgmma, {}), {cublas}});
                candidates.push_back({"wgmma chained", operands.flop(), by(wgmma, {.chained = true}), {cublas}});
            }
        }
        fmt::print("{} items {} M {} N {} K {}\n", c.name, c.items, rows, c.shape.outputs, k);
        time_and_print(candidates, stream);
    }
}

}  // namespace sluice::bench
