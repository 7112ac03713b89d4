#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kernels/host/aligned.hpp"
#include "kernels/host/dnnl_call.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"

namespace sluice {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

// Items in the largest product. A product streams all weights from memory once: fewer items make it memory-bound, more
// gain nothing. Smaller numbers of items use the next power of two.
constexpr std::size_t largest_block = 64;

IoShape io_shape(const LinearShape& shape) {
    return {float_bytes(1, shape.inputs), float_bytes(1, shape.outputs)};
}

using Plan = dnnl::matmul::primitive_desc;

Plan plan(const LinearShape& shape, std::size_t items, const dnnl::memory::desc& weights) {
    const OneThread one_thread;
    const auto rows = static_cast<dnnl::memory::dim>(items);
    const dnnl::memory::desc source({rows, shape.inputs}, f32, Tag::ab);
    const dnnl::memory::desc bias({1, shape.outputs}, f32, Tag::ab);
    const dnnl::memory::desc destination({rows, shape.outputs}, f32, Tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.relu) {
        dnnl::post_ops after;
        after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
        attributes.set_post_ops(after);
    }
    return {{source, weights, bias, destination}, attributes, dnnl_cpu()};
}

/// Products of 1, 2, 4, … largest_block items, with one packing of the weights for all.
struct Prepared {
    LinearShape shape;
    std::vector<Plan> plans;  // [log2(items)]
    std::vector<dnnl::matmul> primitives;
    dnnl::memory weights;
    dnnl::memory bias;
};

class Linear final : public HostOperation {
public:
    Linear(const Prepared& prepared, std::uint32_t max_items)
        : HostOperation(io_shape(prepared.shape), max_items), shape_(prepared.shape) {
        const std::size_t largest = std::bit_ceil(std::clamp<std::size_t>(max_items, 1, largest_block));
        for (std::size_t i = 0; (std::size_t{1} << i) <= largest; ++i) {
            const Plan& block = prepared.plans[i];
            calls_.emplace_back(prepared.primitives[i], block.src_desc(), prepared.weights, prepared.bias,
                                block.dst_desc(), dnnl_memory(block.scratchpad_desc()));
        }
        padded_in_.resize(largest * shape_.inputs);
        padded_out_.resize(largest * shape_.outputs);
    }

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const OneThread one_thread;
        const float* source = as_floats(in);
        float* destination = as_floats(out);
        for (; items >= largest_block; items -= largest_block) {
            calls_.back()(source, destination);
            source += largest_block * shape_.inputs;
            destination += largest_block * shape_.outputs;
        }
        if (std::has_single_bit(items)) {
            calls_[static_cast<std::size_t>(std::countr_zero(items))](source, destination);
        } else if (items != 0) {
            std::copy_n(source, items * shape_.inputs, padded_in_.data());  // the rows behind them stay what they were
            calls_[static_cast<std::size_t>(std::bit_width(items))](padded_in_.data(), padded_out_.data());
            std::copy_n(padded_out_.data(), items * shape_.outputs, destination);
        }
    }

    LinearShape shape_;
    std::vector<DnnlCall> calls_;  // [log2(items)]
    AlignedVector<float> padded_in_;
    AlignedVector<float> padded_out_;
};

class LinearLayer final : public Layer {
public:
    LinearLayer(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias)
        : prepared_{shape, {}, {}, {}, {}} {
        const dnnl::memory::dims matrix{shape.inputs, shape.outputs};
        const dnnl::memory::desc packed = plan(shape, largest_block, {matrix, f32, Tag::any}).weights_desc();
        for (std::size_t items = 1; items <= largest_block; items *= 2) {
            prepared_.plans.push_back(plan(shape, items, packed));
            prepared_.primitives.emplace_back(prepared_.plans.back());
        }
        const dnnl::memory::desc row({1, shape.outputs}, f32, Tag::ab);
        prepared_.weights = dnnl_packed(weights.data(), {matrix, f32, Tag::ba}, packed);
        prepared_.bias = dnnl_packed(bias.data(), row, row);
    }

    IoShape shape() const noexcept override { return io_shape(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t max_items) const override {
        return with_dnnl([&] { return std::make_unique<Linear>(prepared_, max_items); });
    }

private:
    Prepared prepared_;
};

}  // namespace

std::unique_ptr<Layer> make_host_linear(const LinearShape& shape, std::span<const float> weights,
                                        std::span<const float> bias) {
    expects(weights.size() == std::size_t{shape.outputs} * shape.inputs && bias.size() == shape.outputs,
            "linear: weights or bias have the wrong size");
    return with_dnnl([&] { return std::make_unique<LinearLayer>(shape, weights, bias); });
}

}  // namespace sluice
