#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/classifier/linear_gemm.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/cuda_bench.hpp"
#include "tools/bench/decoder_bench.hpp"

namespace sluice::bench {

void time_products(CudaStream& stream, Precision precision, const DecoderShape& shape) {
    constexpr std::uint32_t most_rows = 135168;
    const std::uint32_t widest = std::max(shape.inner, shape.attention_width());
    const DeviceMemory in(
        std::span<const std::byte>(encode(precision, normal(std::size_t{most_rows} * widest, 0.5F, 3))));
    const DeviceMemory matrix(std::span<const std::byte>(
        encode(precision, normal(std::size_t{widest} * std::max(shape.width, shape.query_width()), 0.04F, 4))));
    const std::vector<float> biases = normal(widest, 0.1F, 5);
    const DeviceMemory bias(std::as_bytes(std::span(biases)));
    const DeviceMemory library_bias(std::span<const std::byte>(encode(precision, biases)));
    const DeviceMemory out(std::size_t{most_rows} * widest * number_bytes(precision));
    const DeviceMemory workspace(linear_workspace_bytes);
    for (const std::uint32_t rows : {most_rows, most_rows / 4, most_rows / 16, 2048U}) {
        for (const auto& [outputs, inputs] : {std::pair{shape.attention_width(), shape.width},
                                              {shape.width, shape.query_width()},
                                              {shape.inner, shape.width},
                                              {shape.width, shape.inner}}) {
            fmt::print(" {} x {} x {}\n", rows, outputs, inputs);
            const double flop = 2.0 * rows * outputs * inputs;
            const LinearGemm library(
                {.inputs = inputs, .outputs = outputs}, precision, rows,
                {in.as(), matrix.as(), library_bias.as(), out.as(), workspace.as(), linear_workspace_bytes});
            std::vector<Candidate> candidates{{"cuBLASLt's first", flop, [&](cudaStream_t s) { library.enqueue(s); }}};
            const GemmShape product_shape{rows, outputs, inputs};
            const GemmMemory memory{in.as(), matrix.as(), bias.as<float>(), nullptr, out.as()};
            for (const MatrixInstructions way : {MatrixInstructions::wgmma, MatrixInstructions::mma}) {
                const bool wgmma = way == MatrixInstructions::wgmma;
                if (wgmma && instructions_of_current_gpu() != way) {
                    continue;
                }
                const std::size_t chosen = Gemm(product_shape, precision, memory, {.instructions = way}).tile_number();
                for (std::size_t tile = 0; tile < (wgmma ? gemm_tiles.size() : mma_tiles.size()); ++tile) {
                    const Gemm product(product_shape, precision, memory,
                                       {.tile = tile, .chained = true, .instructions = way});
                    candidates.push_back({product.path() + (tile == chosen ? " *" : ""),
                                          flop,
                                          [product](cudaStream_t s) { product.enqueue(s); },
                                          {0}});
                }
            }
            time_and_print(candidates, stream.handle(), 1000, 5);
        }
    }
}

}  // namespace sluice::bench
