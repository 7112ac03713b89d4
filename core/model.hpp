#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/chunk.hpp"
#include "core/device.hpp"

namespace sluice {

/// What a model did that computes uncertain items a second time, and a third (Precision::certified).
struct Certification {
    std::uint64_t recomputed = 0;        ///< Items.
    std::uint64_t recomputed_twice = 0;  ///< Of those, left uncertain by the second time too.
    double bound = 0;  ///< Of the best two scores' gap, as a share of the scores' size, below which it did.
    friend bool operator==(const Certification&, const Certification&) = default;
};

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

    /// The same where only the first `*active` of the items count: device memory, read when the work runs. What the
    /// outputs of the others are is open; their work may be saved.
    virtual void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                                std::span<const std::byte> in, std::span<std::byte> out) {
        static_cast<void>(active);
        forward(stream, items, in, out);
    }

    /// Learns what it has to from `sample`, some of the job's items, the same on every device. Before the first
    /// forward(); is over when this returns. Nothing, unless LoadedApp::sample_items().
    virtual void calibrate(Stream& stream, std::span<const std::byte> sample) {
        static_cast<void>(stream);
        static_cast<void>(sample);
    }

    /// In all that is over: wait for what was enqueued first. nullopt: it computes every item once.
    [[nodiscard]] virtual std::optional<Certification> certification() const { return std::nullopt; }
};

}  // namespace sluice
