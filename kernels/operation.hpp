#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/chunk.hpp"
#include "core/device.hpp"

namespace sluice {

/// The items of one call of an operation.
struct Batch {
    std::size_t items;  ///< At most as many as the operation was made for.
    /// Device memory, read when the work runs: only so many of the items count, the first ones. What the others'
    /// outputs are is open; an operation may save their work, and a device loop's last round leaves it most to save.
    /// Null, or a greater number than `items`: all.
    const std::uint32_t* active = nullptr;
};

/// Tensors in device memory, one span each, in the order that the operation's family says.
using Inputs = std::span<const std::span<const std::byte>>;
using Outputs = std::span<const std::span<std::byte>>;

/// One step of a model on one device, with its own work space. Used by one driver.
class Operation {
public:
    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    virtual ~Operation() = default;

    /// Enqueues the step; allocates nothing. Each tensor is as long as `items` items of it; no output overlaps another
    /// tensor. All of them and this object stay alive until the stream is past the step. An item's output depends on
    /// its input and the weights alone: not on the other items, how many they are, or where among them it is. Of
    /// the last digit that does not hold for dense layers that a library multiplies and that are not batch_invariant.
    virtual void enqueue(Stream& stream, const Batch& batch, Inputs in, Outputs out) = 0;

    /// The same for a step of one tensor in and one out.
    void enqueue(Stream& stream, const Batch& batch, std::span<const std::byte> in, std::span<std::byte> out) {
        enqueue(stream, batch, Inputs(&in, 1), Outputs(&out, 1));
    }
};

/// A step's plan and its weights, shared by all operations made from it: one tensor in and one out.
class Layer {
public:
    Layer() = default;
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    virtual ~Layer() = default;

    /// Bytes of one item in and out.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Thread-safe; once the weights are packed. The layer and the weights outlive the operation.
    [[nodiscard]] virtual std::unique_ptr<Operation> make_operation(Device& device, std::uint32_t max_items) const = 0;
};

}  // namespace sluice
