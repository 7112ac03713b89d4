#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/device.hpp"
#include "core/model.hpp"
#include "kernels/margin.hpp"

namespace sluice {

struct CertifyShape {
    std::uint32_t input_bytes;  ///< Of one item.
    std::uint32_t classes;
    bool scores = false;      ///< Whether the records that leave hold the scores as well.
    std::uint32_t max_items;  ///< In a chunk.
    std::uint32_t batch;      ///< Items that the exact model computes at a time; it was made for as many.
    /// Device memory, not owned, that is told how many items of a batch are there, before the exact model computes it;
    /// the rest is padding. Null: none is told.
    std::uint32_t* batch_items = nullptr;
    /// The same from the other side, where this certifier is a part of another one's exact model: how many items of a
    /// chunk are there; the rest is not computed again. All, until another number is told. Null: always all.
    std::uint32_t* chunk_items = nullptr;
};

/// Makes exact labels of a fast model's guesses: where those are uncertain, the exact model computes the item again.
/// All of it happens on the device; the host does not wait to hear how many those are. Used by one driver.
class Certifier {
public:
    Certifier() = default;
    Certifier(const Certifier&) = delete;
    Certifier& operator=(const Certifier&) = delete;
    virtual ~Certifier() = default;

    /// Before the first enqueue(); has arrived when this returns. margin.offsets.size() is the number of classes.
    virtual void set_margin(const Margin& margin) = 0;

    /// `guesses` are the fast model's records of the `items` items at `in`: int32 label, then the classes' fp32 scores.
    /// Writes `out`, records of the same form, without the scores unless CertifyShape::scores. A record of a certain
    /// item has the guessed scores, offsets added, and their first maximum; of an uncertain one what the exact model
    /// says. At most CertifyShape::max_items items; allocates nothing once captured (Stream::launch).
    virtual void enqueue(Stream& stream, std::size_t items, std::span<const std::byte> in,
                         std::span<const std::byte> guesses, std::span<std::byte> out) = 0;

    /// Items that the exact model computed in all that is over: wait for what was enqueued first.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;
};

}  // namespace sluice
