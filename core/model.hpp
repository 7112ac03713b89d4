#pragma once

#include <cstddef>
#include <span>

#include "core/chunk.hpp"
#include "core/device.hpp"

namespace sluice {

/// A model on one device, with its own work space: made once, used by one driver.
class Model {
public:
    Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;
    virtual ~Model() = default;

    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Enqueues the work that turns `items` inputs at `in` into `items` outputs at `out`, both in device memory. The
    /// outputs depend on the inputs, the weights and `items` alone. `items` is at most what the model was made for.
    virtual void forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                         std::span<std::byte> out) = 0;
};

}  // namespace sluice
