#include "kernels/host/aligned.hpp"
#include "kernels/host/dnnl_call.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/max_pool.hpp"
#include "kernels/host/pack.hpp"

namespace sluice {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

/// oneDNN's plan for one item. One item fills a core's caches and vector units; more at once gain nothing and would
/// need a plan for every number of items.
dnnl::convolution_forward::primitive_desc plan(const Conv1dShape& shape) {
    const dnnl::memory::dim in = shape.in_channels;
    const dnnl::memory::dim out = shape.out_channels;
    const dnnl::memory::desc source({1, in, shape.length}, f32, Tag::nwc);
    const dnnl::memory::desc weights({out, in, shape.taps}, f32, Tag::any);
    const dnnl::memory::desc bias({out}, f32, Tag::a);
    const dnnl::memory::desc destination({1, out, shape.positions()}, f32, Tag::nwc);
    return dnnl_plan<dnnl::convolution_forward>(dnnl_attributes(shape.relu), dnnl::prop_kind::forward_inference,
                                                dnnl::algorithm::convolution_direct, source, weights, bias, destination,
                                                dnnl::memory::dims{1}, dnnl::memory::dims{0}, dnnl::memory::dims{0});
}

/// Shared by all operations. oneDNN's handles count references; executing a primitive is thread-safe with own scratch.
struct Prepared {
    Conv1dShape shape;
    dnnl::convolution_forward::primitive_desc plan;
    dnnl::convolution_forward primitive;
    PackedWeights::Room weights;
    PackedWeights::Room bias;
};

class Conv1d final : public HostOperation {
public:
    Conv1d(const Prepared& prepared, std::uint32_t most_items)
        : HostOperation(conv1d_io(prepared.shape), most_items),
          shape_(prepared.shape),
          call_(prepared.primitive, prepared.plan.src_desc(),
                dnnl_view(prepared.plan.weights_desc(), prepared.weights.floats()),
                dnnl_view(prepared.plan.bias_desc(), prepared.bias.floats()), prepared.plan.dst_desc(),
                dnnl_memory(prepared.plan.scratchpad_desc())),
          unpooled_(shape_.pool == 1 ? 0 : std::size_t{shape_.positions()} * shape_.out_channels) {}

private:
    void run(std::size_t items, const std::byte* in, std::byte* out) override {
        const OneThread one_thread;
        const IoShape item = conv1d_io(shape_);
        for (std::size_t i = 0; i < items; ++i) {
            const float* source = as_floats(in + i * item.input_bytes);
            float* destination = as_floats(out + i * item.output_bytes);
            if (shape_.pool == 1) {
                call_(source, destination);
            } else {
                call_(source, unpooled_.data());
                max_pool(unpooled_.data(), shape_.positions() / shape_.pool, shape_.pool, shape_.out_channels,
                         destination);
            }
        }
    }

    Conv1dShape shape_;
    DnnlCall call_;
    AlignedVector<float> unpooled_;  // (positions, out_channels)
};

class Conv1dLayer final : public Layer {
public:
    Conv1dLayer(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias,
                PackedWeights& packed)
        : prepared_{shape, plan(shape), {}, {}, {}} {
        prepared_.primitive = dnnl::convolution_forward(prepared_.plan);
        const dnnl::memory::desc as_given({shape.out_channels, shape.in_channels, shape.taps}, f32, Tag::oiw);
        const dnnl::memory::desc wanted = prepared_.plan.weights_desc();
        const auto pack = [=](std::byte* room) { dnnl_pack(weights.data(), as_given, room, wanted); };
        prepared_.weights = packed.reserve(wanted.get_size(), {pack});
        prepared_.bias = reserve_copy(packed, bias);
    }

    IoShape shape() const noexcept override { return conv1d_io(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t most_items) const override {
        return with_dnnl([&] { return std::make_unique<Conv1d>(prepared_, most_items); });
    }

private:
    Prepared prepared_;
};

}  // namespace

IoShape conv1d_io(const Conv1dShape& shape) {
    return {float_bytes(shape.length, shape.in_channels),
            float_bytes(shape.positions() / shape.pool, shape.out_channels)};
}

void check_conv1d(const Conv1dShape& shape, std::span<const float> weights, std::span<const float> bias) {
    expects(shape.taps >= 1 && shape.taps <= shape.length && shape.pool >= 1 && shape.positions() % shape.pool == 0,
            "conv1d: its taps and pool do not fit its length");
    expects(weights.size() == std::size_t{shape.out_channels} * shape.in_channels * shape.taps &&
                bias.size() == shape.out_channels,
            "conv1d: weights or bias have the wrong size");
}

std::unique_ptr<Layer> make_host_conv1d(const Conv1dShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    check_conv1d(shape, weights, bias);
    return with_dnnl([&] { return std::make_unique<Conv1dLayer>(shape, weights, bias, packed); });
}

}  // namespace sluice
