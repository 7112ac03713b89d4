#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/chunk.hpp"
#include "core/device.hpp"
#include "core/interface.hpp"

namespace sluice {

/// The items of one call of an operation.
struct Batch {
    std::size_t items;  ///< At most the operation's most_items.
    /// In device memory, read when the work runs: how many of the items, from the first on, are active. The outputs
    /// of the others are unspecified, and an operation may skip them, as in the last round of a device loop. Null, or
    /// more than `items`: all.
    const std::uint32_t* active = nullptr;
};

/// Tensors in device memory, one span each, in the order that the operation's family defines.
using Inputs = std::span<const std::span<const std::byte>>;
using Outputs = std::span<const std::span<std::byte>>;

/// One step of a model on one device, with its own workspace. Used by one driver.
class Operation : public Interface {
public:
    /// Enqueues the step; allocates nothing. Each tensor holds exactly `items` items; no output overlaps another
    /// tensor. All tensors and this object stay alive until the stream has passed the step. An item's output depends
    /// only on its input and the weights, not on the number of items or its position among them; except for the last
    /// digit of dense layers on GPUs that are multiplied by a library and not batch_invariant.
    virtual void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) = 0;

    /// The same for one input and one output tensor.
    void enqueue(Stream& stream, const Batch& batch, std::span<const std::byte> in, std::span<std::byte> out) {
        enqueue(stream, batch, Inputs(&in, 1), Outputs(&out, 1));
    }
};

/// Plan and weights of a step with one input and one output tensor, shared by all operations made from it.
class Layer : public Interface {
public:
    /// Bytes of one item in and out.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Thread-safe; only after the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Operation> make_operation(Device& device, std::uint32_t most_items) const = 0;
};

}  // namespace sluice
