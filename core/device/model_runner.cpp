#include "core/device/model_runner.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {

ModelRunner::ModelRunner(Device& device, Model& model, std::size_t most_items)
    : model_(model),
      pinned_in_(device.allocate(MemorySpace::pinned, most_items * model.shape().input_bytes)),
      in_(device.allocate(MemorySpace::device, most_items * model.shape().input_bytes)),
      out_(device.allocate(MemorySpace::device, most_items * model.shape().output_bytes)),
      pinned_out_(device.allocate(MemorySpace::pinned, most_items * model.shape().output_bytes)),
      stream_(device.make_stream({})) {}

std::span<const std::byte> ModelRunner::run(std::span<const std::byte> items) {
    expects(items.size() <= pinned_in_.bytes().size(), "ModelRunner: more items than it was made for");
    const IoShape shape = model_.shape();
    const std::size_t count = items.size() / shape.input_bytes;
    std::ranges::copy(items, pinned_in_.bytes().begin());
    enqueue(count).downloaded.wait();
    return pinned_out_.bytes().first(count * shape.output_bytes);
}

ModelRunner::Events ModelRunner::enqueue(std::size_t count, std::unique_ptr<CapturedWork>* captured) {
    const IoShape shape = model_.shape();
    const auto in = in_.bytes().first(count * shape.input_bytes);
    const auto out = out_.bytes().first(count * shape.output_bytes);
    const auto forward = [&] { model_.forward(*stream_, count, in, out); };
    Events events{.begun = stream_->record(), .uploaded = {}, .computed = {}, .downloaded = {}};
    stream_->copy(in, pinned_in_.bytes().first(in.size()));
    events.uploaded = stream_->record();
    if (captured == nullptr) {
        forward();
    } else {
        stream_->launch(*captured, forward);
    }
    if (model_.lag() != 0) {
        const auto finish = [&] { model_.finish(*stream_); };
        stream_->launch(finish_, finish);
    }
    events.computed = stream_->record();
    stream_->copy(pinned_out_.bytes().first(out.size()), out);
    events.downloaded = stream_->record();
    return events;
}

}  // namespace sluice
