#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/buffer.hpp"
#include "core/device.hpp"
#include "core/event.hpp"
#include "core/model.hpp"

namespace sluice {

/// Runs items through a model outside of a pipeline, from host memory to host memory, one batch at a time. A model that
/// holds chunks back finishes each batch before the next one.
class ModelRunner {
public:
    /// `device` and `model` (made on it for at least `most_items`) outlive this object.
    ModelRunner(Device& device, Model& model, std::size_t most_items);

    /// Returns the outputs of `items` (at most most_items), valid until the next call. Throws what the device throws.
    [[nodiscard]] std::span<const std::byte> run(std::span<const std::byte> items);

    /// Input buffer of enqueue(), for most_items items.
    [[nodiscard]] std::span<std::byte> items() noexcept { return pinned_in_.bytes(); }

    /// Ends of a batch's stages.
    struct Events {
        Event begun;
        Event uploaded;
        Event computed;
        Event downloaded;
    };

    /// Enqueues upload, compute and download of the first `count` items(). With `captured`, one per count, the model's
    /// work is captured the first time and launched from then on.
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
