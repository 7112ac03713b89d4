#include "apps/sequential_model.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

SequentialModel::SequentialModel(Device& device, std::span<const SequentialStage> stages, std::uint32_t most_items)
    : most_items_(most_items) {
    expects(!stages.empty(), "sequential model: no stages");
    for (const SequentialStage& source : stages) {
        expects(!source.layers.empty() && source.group_items > 0, "sequential model: an empty stage");
        Stage& stage = stages_.emplace_back();
        stage.group_items = std::min(source.group_items, most_items);
        std::size_t largest = 0;
        for (const auto& layer : source.layers) {
            const IoShape shape = layer->shape();
            expects(shape_.input_bytes == 0 || shape.input_bytes == shape_.output_bytes,
                    "sequential model: a layer does not fit its predecessor");
            shape_ = {shape_.input_bytes == 0 ? shape.input_bytes : shape_.input_bytes, shape.output_bytes};
            stage.steps.push_back(
                {shape, layer->make_operation(device, static_cast<std::uint32_t>(stage.group_items))});
            if (&layer != &source.layers.back()) {
                largest = std::max<std::size_t>(largest, shape.output_bytes);
            }
        }
        for (Buffer& buffer : stage.between) {
            buffer = device.allocate(MemorySpace::device, largest * stage.group_items);
        }
        if (&source != &stages.back()) {
            stage.result = device.allocate(MemorySpace::device, std::size_t{shape_.output_bytes} * most_items);
        }
    }
}

void SequentialModel::forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                              std::span<std::byte> out) {
    forward_active(stream, items, nullptr, in, out);
}

void SequentialModel::forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                                     std::span<const std::byte> in, std::span<std::byte> out) {
    expects(items <= most_items_, "sequential model: more items than it was made for");
    expects(in.size() == items * shape_.input_bytes && out.size() == items * shape_.output_bytes,
            "sequential model: input or output has the wrong size");
    for (Stage& stage : stages_) {
        const std::size_t in_bytes = stage.steps.front().shape.input_bytes;
        const std::size_t out_bytes = stage.steps.back().shape.output_bytes;
        const auto to = &stage == &stages_.back() ? out : stage.result.bytes().first(items * out_bytes);
        for (std::size_t first = 0; first < items; first += stage.group_items) {
            const std::size_t count = std::min(stage.group_items, items - first);
            // As many of each group as of the whole: what only the first ones need, a later group may compute, too.
            const Batch batch{.items = count, .active = active};
            run_group(stream, stage, batch, in.subspan(first * in_bytes, count * in_bytes),
                      to.subspan(first * out_bytes, count * out_bytes));
        }
        in = to;
    }
}

void SequentialModel::run_group(Stream& stream, Stage& stage, const Batch& batch, std::span<const std::byte> in,
                                std::span<std::byte> out) {
    std::size_t turn = 0;
    for (Step& step : stage.steps) {
        const bool last = &step == &stage.steps.back();
        const auto to = last ? out : stage.between[turn].bytes().first(batch.items * step.shape.output_bytes);
        step.operation->enqueue(stream, batch, in, to);
        in = to;
        turn ^= 1U;
    }
}

}  // namespace sluice
