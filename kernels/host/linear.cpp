#include <vector>

#include "core/error.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/invariant_product.hpp"

namespace sluice {
namespace {

IoShape io_shape(const LinearShape& shape) {
    return {float_bytes(1, shape.inputs), float_bytes(1, shape.outputs)};
}

/// Rows [first, first + count) of the weights, with inputs in the activations' memory order.
std::vector<float> rows_as_in_memory(const LinearShape& shape, std::span<const float> weights, std::size_t first,
                                     std::size_t count) {
    const std::size_t channels = shape.channels;
    const std::size_t positions = shape.inputs / channels;
    std::vector<float> rows(count * shape.inputs);
    for (std::size_t row = 0; row < count; ++row) {
        const float* from = &weights[(first + row) * shape.inputs];
        float* to = &rows[row * shape.inputs];
        for (std::size_t p = 0; p < positions; ++p) {
            for (std::size_t c = 0; c < channels; ++c) {
                to[p * channels + c] = from[c * positions + p];
            }
        }
    }
    return rows;
}

class Linear final : public HostOperation {
public:
    Linear(const LinearShape& shape, const InvariantView& matrix, std::uint32_t most_items)
        : HostOperation(io_shape(shape), most_items),
          matrix_(matrix),
          after_(shape.relu ? AfterProduct::relu : AfterProduct::nothing),
          product_(matrix.precision, matrix.inputs, most_items) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        product_(matrix_, items, as_floats(in), as_floats(out), after_);
    }

    InvariantView matrix_;
    AfterProduct after_;
    InvariantProduct product_;
};

class LinearLayer final : public Layer {
public:
    LinearLayer(Precision precision, const LinearShape& shape, std::span<const float> weights,
                std::span<const float> bias, PackedWeights& packed)
        : shape_(shape),
          matrix_(reserve_invariant(
              precision, shape.inputs,
              [=](std::size_t first, std::size_t count) { return rows_as_in_memory(shape, weights, first, count); },
              bias, packed)) {}

    IoShape shape() const noexcept override { return io_shape(shape_); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t most_items) const override {
        return std::make_unique<Linear>(shape_, matrix_.view(), most_items);
    }

private:
    LinearShape shape_;
    InvariantMatrix matrix_;
};

}  // namespace

std::unique_ptr<Layer> make_host_linear(Precision precision, const LinearShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    expects(shape.channels >= 1 && shape.inputs % shape.channels == 0, "linear: its channels do not divide its inputs");
    expects(weights.size() == std::size_t{shape.outputs} * shape.inputs && bias.size() == shape.outputs,
            "linear: weights or bias have the wrong size");
    return std::make_unique<LinearLayer>(precision, shape, weights, bias, packed);
}

}  // namespace sluice
