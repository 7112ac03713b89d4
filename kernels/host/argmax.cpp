#include <cstring>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"

namespace sluice {
namespace {

IoShape io_shape(const ArgmaxShape& shape) {
    const auto label_bytes = static_cast<std::uint32_t>(sizeof(std::int32_t));
    return {float_bytes(1, shape.classes), label_bytes + (shape.scores ? float_bytes(1, shape.classes) : 0)};
}

class Argmax final : public HostOperation {
public:
    Argmax(const ArgmaxShape& shape, std::uint32_t max_items)
        : HostOperation(io_shape(shape), max_items), shape_(shape) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const IoShape item = io_shape(shape_);
        for (std::size_t i = 0; i < items; ++i, in += item.input_bytes, out += item.output_bytes) {
            const float* scores = as_floats(in);
            std::int32_t label = 0;
            for (std::uint32_t c = 1; c < shape_.classes; ++c) {
                if (scores[c] > scores[label]) {
                    label = static_cast<std::int32_t>(c);
                }
            }
            std::memcpy(out, &label, sizeof(label));
            if (shape_.scores) {
                std::memcpy(out + sizeof(label), scores, item.input_bytes);
            }
        }
    }

    ArgmaxShape shape_;
};

class ArgmaxLayer final : public Layer {
public:
    explicit ArgmaxLayer(const ArgmaxShape& shape) : shape_(shape) {}

    IoShape shape() const noexcept override { return io_shape(shape_); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t max_items) const override {
        return std::make_unique<Argmax>(shape_, max_items);
    }

private:
    ArgmaxShape shape_;
};

}  // namespace

std::unique_ptr<Layer> make_host_argmax(const ArgmaxShape& shape) {
    expects(shape.classes >= 1, "argmax: no classes");
    return std::make_unique<ArgmaxLayer>(shape);
}

}  // namespace sluice
