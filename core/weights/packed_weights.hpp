#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/modes.hpp"
#include "core/system/node_memory.hpp"

namespace sluice {

class LoadedApp;
class OpenApp;
struct WeightBlob;

/// Weights of all layers of a model, in the backend's layouts, in one contiguous memory that the ranks of a node can
/// share. Layers reserve() room while they are constructed, in the same order on every rank; pack() writes the weights;
/// then operations read them.
class PackedWeights {
public:
    /// Writes a part of the layer's room that begins at `room`. Called at most once, on any thread.
    using Part = std::function<void(std::byte* room)>;

    /// A layer's room, aligned to 64 bytes.
    class Room {
    public:
        Room() = default;

        /// Valid once all ranks have packed, for the lifetime of the PackedWeights.
        [[nodiscard]] const std::byte* data() const;
        [[nodiscard]] const float* floats() const { return reinterpret_cast<const float*>(data()); }

    private:
        friend class PackedWeights;
        Room(const PackedWeights& owner, std::size_t offset) noexcept : owner_(&owner), offset_(offset) {}

        const PackedWeights* owner_ = nullptr;
        std::size_t offset_ = 0;
    };

    /// The parts that this process writes: those whose number modulo `ranks` is `rank`.
    struct Share {
        std::uint32_t rank = 0;
        std::uint32_t ranks = 1;
    };

    PackedWeights() = default;
    PackedWeights(const PackedWeights&) = delete;
    PackedWeights& operator=(const PackedWeights&) = delete;

    /// Reserves `bytes`, which `parts` write together. What they read must stay alive until pack() returns.
    [[nodiscard]] Room reserve(std::size_t bytes, std::vector<Part> parts);

    /// Size of all rooms.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Writes this process's share of the parts into `memory` (bytes() long), on up to `threads` threads, and takes
    /// ownership of the memory. Throws what a part throws.
    void pack(NodeMemory memory, const Share& share, std::uint32_t threads);

private:
    struct Task {
        std::size_t offset;
        Part part;
    };

    std::size_t bytes_ = 0;
    std::vector<Task> tasks_;
    NodeMemory memory_;
};

/// Calls app.load() and packs the weights in this process alone, on up to `threads` threads.
[[nodiscard]] std::unique_ptr<LoadedApp> load_alone(const OpenApp& app, const WeightBlob& weights, Precision precision,
                                                    DeviceKind kind, std::uint32_t threads);

}  // namespace sluice
