#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "kernels/host/aligned.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/invariant_product.hpp"
#include "kernels/host/max_pool.hpp"
#include "kernels/host/tile_product.hpp"

namespace sluice {
namespace {

/// Weights of channels [first, first + count), (count, taps, channels padded with zeros), from (channels, in, taps).
std::vector<float> rows_of_windows(const Conv1dShape& shape, std::span<const float> weights, std::size_t first,
                                   std::size_t count) {
    const std::size_t taps = shape.taps;
    const std::size_t channels = padded_depth(shape.in_channels);
    std::vector<float> rows(count * taps * channels);
    for (std::size_t row = 0; row < count; ++row) {
        const float* const from = &weights[(first + row) * shape.in_channels * taps];
        for (std::size_t c = 0; c < shape.in_channels; ++c) {
            for (std::size_t t = 0; t < taps; ++t) {
                rows[(row * taps + t) * channels + c] = from[c * taps + t];
            }
        }
    }
    return rows;
}

/// Channels are the last axis, so a position's window is a row of a product as it lies in memory, and overlaps the
/// next.
class TileConv1d final : public HostOperation {
public:
    TileConv1d(const Conv1dShape& shape, const InvariantView& matrix, std::uint32_t most_items)
        : HostOperation(conv1d_io(shape), most_items),
          shape_(shape),
          matrix_(matrix),
          channels_(padded_depth(shape.in_channels)),
          rounded_((padded_rows(shape.positions()) + shape.taps - 1) * channels_),
          unpooled_(shape.pool == 1 ? 0 : std::size_t{shape.positions()} * shape.out_channels) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const IoShape item = conv1d_io(shape_);
        for (std::size_t i = 0; i < items; ++i, in += item.input_bytes, out += item.output_bytes) {
            if (shape_.pool == 1) {
                convolve(as_floats(in), as_floats(out));
            } else {
                convolve(as_floats(in), unpooled_.data());
                max_pool(unpooled_.data(), shape_.positions() / shape_.pool, shape_.pool, shape_.out_channels,
                         as_floats(out));
            }
        }
    }

    void convolve(const float* in, float* out) {
        for (std::size_t row = 0; row < shape_.length; ++row) {
            round_to_bf16(shape_.in_channels, in + row * shape_.in_channels, &rounded_[row * channels_]);
        }
        multiply_tiles(
            {matrix_.inputs, matrix_.outputs, static_cast<const std::uint16_t*>(matrix_.weights), matrix_.bias},
            shape_.positions(), rounded_.data(), channels_, shape_.relu, out);
    }

    Conv1dShape shape_;
    InvariantView matrix_;
    std::size_t channels_;
    AlignedVector<std::uint16_t> rounded_;  // (positions that fill tiles up, and the last window, channels_)
    AlignedVector<float> unpooled_;         // (positions, out_channels)
};

class TileConv1dLayer final : public Layer {
public:
    TileConv1dLayer(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias,
                    PackedWeights& packed)
        : shape_(shape),
          matrix_(reserve_invariant(
              Precision::bf16, shape.taps * padded_depth(shape.in_channels),
              [=](std::size_t first, std::size_t count) { return rows_of_windows(shape, weights, first, count); }, bias,
              packed)) {}

    IoShape shape() const noexcept override { return conv1d_io(shape_); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t most_items) const override {
        return std::make_unique<TileConv1d>(shape_, matrix_.view(), most_items);
    }

private:
    Conv1dShape shape_;
    InvariantMatrix matrix_;
};

}  // namespace

std::unique_ptr<Layer> make_tile_conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    check_conv1d(shape, weights, bias);
    return std::make_unique<TileConv1dLayer>(shape, weights, bias, packed);
}

}  // namespace sluice
