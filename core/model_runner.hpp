#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/buffer.hpp"
#include "core/device.hpp"
#include "core/event.hpp"
#include "core/model.hpp"

namespace sluice {

/// Runs items through a model outside of a pipeline, from host memory to host memory, a batch at a time. A batch of a
/// model that holds chunks back is finished before the next one.
class ModelRunner {
public:
    /// `device` and `model`, made on it for `max_items` at least, outlive it.
    ModelRunner(Device& device, Model& model, std::size_t max_items);

    /// The outputs of `items`, at most max_items of them; valid until the next call. Throws what the device throws.
    [[nodiscard]] std::span<const std::byte> run(std::span<const std::byte> items);

    /// Where enqueue() takes its items: room for max_items of them.
    [[nodiscard]] std::span<std::byte> items() noexcept { return pinned_in_.bytes(); }

    /// When each stage of a batch was over.
    struct Events {
        Event begun;
        Event uploaded;
        Event computed;
        Event downloaded;
    };

    /// Enqueues upload, compute and download of the first `count` items(). With `captured`, which belongs to this
    /// count, the model's work is captured the first time, and launched from then on.
    Events enqueue(std::size_t count, std::unique_ptr<CapturedWork>* captured = nullptr);

private:
    Model& model_;
    Buffer pinned_in_;
    Buffer in_;
    Buffer out_;
    Buffer pinned_out_;
    std::unique_ptr<CapturedWork> finish_;  // the model's
    std::unique_ptr<Stream> stream_;        // declared last: it drains first, so no queued copy outlives its buffers
};

}  // namespace sluice
