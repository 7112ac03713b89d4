#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "core/weights/packed_weights.hpp"
#include "kernels/cuda/primitives/precision.hpp"
#include "kernels/operation.hpp"

namespace sluice {

/// An operation with one input and one output tensor that is a few launches on the stream. Computes inactive items,
/// too.
class CudaOperation : public Operation {
public:
    CudaOperation(const IoShape& shape, std::uint32_t most_items) noexcept : shape_(shape), most_items_(most_items) {}

    using Operation::enqueue;
    void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) final;

private:
    virtual void launch(cudaStream_t stream, std::uint32_t items, const std::byte* in, std::byte* out) = 0;

    IoShape shape_;
    std::uint32_t most_items_;
};

/// Copies host memory to device memory of the same size. Blocks until the data has arrived for streams of any kind.
void copy_now(std::span<std::byte> to, std::span<const std::byte> from);

/// One layer's weights in its kernels' layout and number format, packed in host memory for all devices of a node.
class CudaWeights {
public:
    /// Makes the bytes; called at most once.
    using Make = std::function<std::vector<std::byte>()>;

    CudaWeights(PackedWeights& packed, std::size_t bytes, Make make);

    /// Makes piece number `piece`; called at most once for each, on any threads.
    using MakePiece = std::function<std::vector<std::byte>(std::uint32_t piece)>;

    /// One piece lies behind the other, of `piece_bytes` each; the last may be shorter.
    CudaWeights(PackedWeights& packed, std::size_t bytes, std::size_t piece_bytes, const MakePiece& make);

    /// A copy in the memory of `device`, aligned to 256 bytes.
    [[nodiscard]] Buffer on(Device& device) const;

private:
    PackedWeights::Room room_;
    std::size_t bytes_;
};

/// Rows of `columns` values that make a piece: enough for a thread to be worth it, few enough for the cache.
[[nodiscard]] constexpr std::size_t rows_of_piece(std::size_t columns) {
    constexpr std::size_t values = std::size_t{1} << 19U;
    return std::max<std::size_t>(values / columns, 1);
}

/// A layer that keeps its shape, its precision and its weights, and makes an Op of them on each device:
/// Op(shape, precision, device, most_items, Buffer...), with a buffer for each of the weights.
template <class Op, class Shape, class... Weights>
class CudaLayer final : public Layer {
public:
    CudaLayer(const IoShape& io, const Shape& shape, Precision precision, Weights... weights)
        : io_(io), shape_(shape), precision_(precision), weights_(weights...) {}

    IoShape shape() const noexcept override { return io_; }
    std::unique_ptr<Operation> make_operation(Device& device, std::uint32_t most_items) const override {
        const auto make = [&](const Weights&... weights) {
            return std::make_unique<Op>(shape_, precision_, device, most_items, weights.on(device)...);
        };
        return std::apply(make, weights_);
    }

private:
    IoShape io_;
    Shape shape_;
    Precision precision_;
    std::tuple<Weights...> weights_;
};

/// `weights` are CudaWeights.
template <class Op, class Shape, class... Weights>
[[nodiscard]] std::unique_ptr<Layer> make_cuda_layer(const IoShape& io, const Shape& shape, Precision precision,
                                                     Weights... weights) {
    return std::make_unique<CudaLayer<Op, Shape, Weights...>>(io, shape, precision, weights...);
}

/// Bytes of one item's tensor of activations.
[[nodiscard]] constexpr std::uint32_t activation_bytes(Precision precision, std::uint32_t rows, std::uint32_t columns) {
    return rows * columns * static_cast<std::uint32_t>(element_bytes(precision));
}

[[nodiscard]] inline std::vector<std::byte> bytes_of(std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
}

}  // namespace sluice
