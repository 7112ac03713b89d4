#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/padded_channels.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "kernels/cuda/cuda_layers.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice {
namespace {

/// The tables' offsets in one allocation.
struct Places {
    Places(const SymbolConvGpuShape& shape, Precision precision)
        : gamma(rounded(shape.channels * number_bytes(precision) / symbol_conv::row_bytes * symbol_conv::slice_bytes)),
          beta(gamma + rounded(std::size_t{shape.positions()} * shape.channels * number_bytes(precision))),
          inner(beta + (beta - gamma)),
          ends(inner + rounded(symbol_conv::inner_floats * sizeof(float))),
          end(ends + rounded(symbol_conv::end_floats * sizeof(float))) {}

    std::size_t gamma;  // the table comes first
    std::size_t beta;
    std::size_t inner;
    std::size_t ends;
    std::size_t end;

private:
    static constexpr std::size_t alignment = 256;
    static std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
};

std::vector<std::byte> in_one_piece(const Places& at, const SymbolConvTables& tables) {
    std::vector<std::byte> piece(at.end);
    const auto put = [&](std::size_t place, std::size_t next, std::span<const std::byte> bytes) {
        expects(bytes.size() <= next - place, "symbol convolution: a table larger than its place");
        std::ranges::copy(bytes, piece.begin() + static_cast<std::ptrdiff_t>(place));
    };
    put(0, at.gamma, tables.table);
    put(at.gamma, at.beta, tables.gamma);
    put(at.beta, at.inner, tables.beta);
    put(at.inner, at.ends, std::as_bytes(std::span(tables.inner)));
    put(at.ends, at.end, std::as_bytes(std::span(tables.ends)));
    return piece;
}

IoShape io_shape(const SymbolConvGpuShape& shape, Precision precision) {
    return {shape.length, activation_bytes(precision, shape.pooled(), shape.channels)};
}

class SymbolConv final : public CudaOperation {
public:
    SymbolConv(const SymbolConvGpuShape& shape, Precision precision, Device& device, std::uint32_t most_items,
               Buffer tables)
        : CudaOperation(io_shape(shape, precision), most_items),
          shape_(shape),
          precision_(precision),
          most_items_(most_items),
          tables_(std::move(tables)),
          block_shared_bytes_(as_cuda(device).block_shared_bytes()),
          scales_(device.allocate(MemorySpace::device, most_items * sizeof(float2))) {}

private:
    void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) override {
        const Places at(shape_, precision_);
        const std::byte* const tables = tables_.bytes().data();
        const SymbolConvGpu conv(shape_, precision_, most_items_,
                                 {.symbols = reinterpret_cast<const std::uint8_t*>(in),
                                  .table = tables,
                                  .gamma = tables + at.gamma,
                                  .beta = tables + at.beta,
                                  .inner = reinterpret_cast<const float*>(tables + at.inner),
                                  .ends = reinterpret_cast<const float*>(tables + at.ends),
                                  .scales = reinterpret_cast<float2*>(scales_.bytes().data()),
                                  .out = out},
                                 block_shared_bytes_);
        conv.enqueue_statistics(items, stream);
        conv.enqueue_convolution(items, stream);
    }

    SymbolConvGpuShape shape_;
    Precision precision_;
    std::uint32_t most_items_;
    Buffer tables_;
    std::uint32_t block_shared_bytes_;
    Buffer scales_;
};

}  // namespace

std::unique_ptr<Layer> make_cuda_symbol_conv(const SymbolConvShape& shape, Precision precision,
                                             std::span<const float> weights, std::span<const float> bias,
                                             std::span<const float> gamma, std::span<const float> beta,
                                             PackedWeights& packed) {
    expects(shape.taps == SymbolConvGpuShape::taps && shape.pool == SymbolConvGpuShape::pool,
            "symbol convolution: the GPU has 7 taps and pooling by 3");
    const std::uint32_t channels = padded_channels(shape.channels);
    const SymbolConvGpuShape on_gpu{
        .length = shape.length, .symbols = shape.symbols, .channels = channels, .padding = channels - shape.channels};
    const Places at(on_gpu, precision);
    const CudaWeights tables(packed, at.end, [=] {
        const auto pad = [&](std::span<const float> values, std::size_t inner) {
            return pad_channels(values, 1, shape.channels, inner);
        };
        const std::size_t of_channel = std::size_t{shape.symbols} * shape.taps;
        return in_one_piece(at, make_symbol_conv_tables(on_gpu, precision, pad(weights, of_channel), pad(bias, 1),
                                                        pad(gamma, on_gpu.positions()), pad(beta, on_gpu.positions())));
    });
    return make_cuda_layer<SymbolConv>(io_shape(on_gpu, precision), on_gpu, precision, tables);
}

}  // namespace sluice
