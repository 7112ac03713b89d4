#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/host/aligned.hpp"
#include "kernels/host/dnnl_call.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_operation.hpp"
#include "kernels/host/linear_weights.hpp"
#include "kernels/host/pack.hpp"

namespace sluice {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

// Items in the largest product. A product streams all weights from memory once: fewer items make it memory-bound, more
// gain nothing. Smaller numbers of items use the next power of two.
constexpr std::size_t largest_block = 64;

using Plan = dnnl::matmul::primitive_desc;

Plan plan(const LinearShape& shape, std::size_t items, const dnnl::memory::desc& weights) {
    const auto rows = static_cast<dnnl::memory::dim>(items);
    const dnnl::memory::desc source({rows, shape.inputs}, f32, Tag::ab);
    const dnnl::memory::desc bias({1, shape.outputs}, f32, Tag::ab);
    const dnnl::memory::desc destination({rows, shape.outputs}, f32, Tag::ab);
    return dnnl_plan<dnnl::matmul>(dnnl_attributes(shape.relu), source, weights, bias, destination);
}

/// Products of 1, 2, 4, … largest_block items, with one packing of the weights for all.
struct Prepared {
    LinearShape shape;
    std::vector<Plan> plans;  // [log2(items)]
    std::vector<dnnl::matmul> primitives;
    PackedWeights::Room weights;
    PackedWeights::Room bias;
};

class Linear final : public HostOperation {
public:
    Linear(const Prepared& prepared, std::uint32_t max_items)
        : HostOperation(linear_io(prepared.shape), max_items), shape_(prepared.shape) {
        const std::size_t largest = std::bit_ceil(std::clamp<std::size_t>(max_items, 1, largest_block));
        for (std::size_t i = 0; (std::size_t{1} << i) <= largest; ++i) {
            const Plan& block = prepared.plans[i];
            calls_.emplace_back(prepared.primitives[i], block.src_desc(),
                                dnnl_view(block.weights_desc(), prepared.weights.floats()),
                                dnnl_view(block.bias_desc(), prepared.bias.floats()), block.dst_desc(),
                                dnnl_memory(block.scratchpad_desc()));
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
            std::copy_n(source, items * shape_.inputs, padded_in_.data());  // the other rows keep old values
            calls_[static_cast<std::size_t>(std::bit_width(items))](padded_in_.data(), padded_out_.data());
            std::copy_n(padded_out_.data(), items * shape_.outputs, destination);
        }
    }

    LinearShape shape_;
    std::vector<DnnlCall> calls_;  // [log2(items)]
    AlignedVector<float> padded_in_;
    AlignedVector<float> padded_out_;
};

/// Outputs in a part of the weights: enough to be worth handing to a thread, in whole blocks of every layout.
std::uint32_t part_outputs(const LinearShape& shape) {
    constexpr std::uint32_t part_floats = 1U << 19U;
    constexpr std::uint32_t largest_block_of_outputs = 64;
    const std::uint32_t blocks = part_floats / largest_block_of_outputs / shape.inputs;
    return std::max(1U, blocks) * largest_block_of_outputs;
}

/// Packs a few outputs at a time, so that several threads can; all at once if the layout cannot be divided.
std::vector<PackedWeights::Part> pack_parts(const LinearShape& shape, std::span<const float> weights,
                                            const dnnl::memory::desc& wanted) {
    const auto pack = [=](std::size_t first, std::size_t count, const dnnl::memory::desc& to) {
        return [=](std::byte* room) {
            const dnnl::memory::desc as_given({shape.inputs, static_cast<dnnl::memory::dim>(count)}, f32, Tag::ba);
            if (shape.channels == 1) {
                dnnl_pack(&weights[first * shape.inputs], as_given, room, to);
            } else {
                dnnl_pack(rows_as_in_memory(shape, weights, first, count).data(), as_given, room, to);
            }
        };
    };
    std::vector<PackedWeights::Part> parts;
    const std::uint32_t step = part_outputs(shape);
    for (std::uint32_t first = 0; first < shape.outputs; first += step) {
        const std::uint32_t count = std::min(step, shape.outputs - first);
        const std::optional<dnnl::memory::desc> to = dnnl_part(wanted, {shape.inputs, count}, {0, first});
        if (!to) {
            return {pack(0, shape.outputs, wanted)};
        }
        parts.push_back(pack(first, count, *to));
    }
    return parts;
}

class LinearLayer final : public Layer {
public:
    LinearLayer(const LinearShape& shape, std::span<const float> weights, std::span<const float> bias,
                PackedWeights& packed)
        : prepared_{shape, {}, {}, {}, {}} {
        const dnnl::memory::desc any({shape.inputs, shape.outputs}, f32, Tag::any);
        const dnnl::memory::desc wanted = plan(shape, largest_block, any).weights_desc();
        for (std::size_t items = 1; items <= largest_block; items *= 2) {
            prepared_.plans.push_back(plan(shape, items, wanted));
            prepared_.primitives.emplace_back(prepared_.plans.back());
        }
        prepared_.weights = packed.reserve(wanted.get_size(), pack_parts(shape, weights, wanted));
        prepared_.bias = reserve_copy(packed, bias);
    }

    IoShape shape() const noexcept override { return linear_io(prepared_.shape); }
    std::unique_ptr<Operation> make_operation(Device&, std::uint32_t max_items) const override {
        return with_dnnl([&] { return std::make_unique<Linear>(prepared_, max_items); });
    }

private:
    Prepared prepared_;
};

}  // namespace

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

std::unique_ptr<Layer> make_host_linear(const LinearShape& shape, std::span<const float> weights,
                                        std::span<const float> bias, PackedWeights& packed) {
    expects(shape.channels >= 1 && shape.inputs % shape.channels == 0, "linear: its channels do not divide its inputs");
    expects(weights.size() == std::size_t{shape.outputs} * shape.inputs && bias.size() == shape.outputs,
            "linear: weights or bias have the wrong size");
    if (shape.batch_invariant) {
        return make_host_invariant_linear(shape, weights, bias, packed);
    }
    return with_dnnl([&] { return std::make_unique<LinearLayer>(shape, weights, bias, packed); });
}

}  // namespace sluice
