#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/chunk.hpp"
#include "core/commit/attempt_history.hpp"
#include "core/function_ref.hpp"
#include "core/model_runner.hpp"

namespace sluice {

/// Halves the ranges that are known to be deadly, and calls `compute` for those that are not, in order. Returns the
/// items that are deadly by themselves. A chunk of several items is taken as deadly.
[[nodiscard]] std::vector<std::uint64_t> compute_in_halves(const Chunk& chunk,
                                                           FunctionRef<bool(const ItemRange&)> is_deadly,
                                                           FunctionRef<void(const ItemRange&)> compute);

/// A device with nothing else to do, which computes a few items at a time.
class LoneDevice {
public:
    /// `app` outlives it. `sample`: what its models want to see first.
    LoneDevice(const LoadedApp& app, DeviceKind kind, std::uint32_t number, std::uint32_t most_items,
               std::span<const std::byte> sample);

    /// The outputs of at most `most_items` items; valid until the next call. Throws what the device throws.
    [[nodiscard]] std::span<const std::byte> compute(std::span<const std::byte> items) { return runner_->run(items); }

private:
    std::unique_ptr<Device> device_;
    std::unique_ptr<Model> model_;
    std::optional<ModelRunner> runner_;
};

}  // namespace sluice
