#include <algorithm>
#include <utility>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/invariant_product.hpp"
#include "kernels/host/linear_weights.hpp"

namespace sluice {
namespace {

class InvariantLinear final : public HostOperation {
public:
    InvariantLinear(const LinearShape& shape, const InvariantView& matrix, std::uint32_t max_items)
        : HostOperation(linear_io(shape), max_items),
          matrix_(matrix),
          after_(shape.relu ? AfterProduct::relu : AfterProduct::nothing),
          product_(matrix.inputs, max_items) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        product_(matrix_, items, as_floats(in), as_floats(out), after_);
    }

    InvariantView matrix_;
    AfterProduct after_;
    InvariantProduct product_;
};

class InvariantLinearLayer final : public Layer {
public:
    InvariantLinearLayer(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                         PackedWeights& packed)
        : shape_(shape),
          matrix_(reserve_invariant(
              shape.inputs,
              [=](std::size_t first, std::size_t count) { return rows_as_in_memory(shape, weights, first, count); },
              bias, packed)) {}

    IoShape shape() const noexcept override { return linear_io(shape_); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t max_items) const override {
        return std::make_unique<InvariantLinear>(shape_, matrix_.view(), max_items);
    }

private:
    LinearShape shape_;
    InvariantMatrix matrix_;
};

}  // namespace

std::unique_ptr<Layer> make_host_invariant_linear(const LinearShape& shape, std::span<const float> weights,
                                                  std::span<const float> bias, PackedWeights& packed) {
    return std::make_unique<InvariantLinearLayer>(shape, weights, bias, packed);
}

}  // namespace sluice
