#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/chunk.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Of the clock that a peer's silence is measured with: a longer pause was one of this rank itself.
inline constexpr std::chrono::milliseconds longest_silence_step{100};

/// Either side waits so long at the end for what the other one may no longer take.
inline constexpr std::chrono::milliseconds longest_farewell{200};

/// What a rank tells rank 0, the head of a grant on its way back, and what rank 0 tells a whole rank. Sent as bytes:
/// one build runs on all ranks, which the session checks at its start.
struct ControlMessage {
    enum class Kind : std::uint32_t { request, result, closed, heartbeat, failure, grant, stop, drain, end };
    Kind kind = Kind::request;
    std::uint32_t device = 0;
    std::uint32_t slot = 0;
    std::uint32_t count = 0;  ///< Of the chunk; failure: of the text's bytes; stop: the signal; end: the exit code.
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint64_t checksum = 0;  ///< result: of the outputs, as they left the device.
    Instant sent{};              ///< request, result, grant: when, by the sender's clock.

    [[nodiscard]] Chunk chunk() const noexcept { return {id, first, count}; }
};
static_assert(std::is_trivially_copyable_v<ControlMessage> && sizeof(ControlMessage) == 48);

/// Message sizes that both sides know before the first message.
struct MessageShape {
    IoShape item{};
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    std::size_t largest_message = 0;  ///< Longer ones travel in pieces.

    [[nodiscard]] std::size_t input_bytes(std::uint32_t items) const noexcept {
        return std::size_t{items} * item.input_bytes;
    }
    [[nodiscard]] std::size_t output_bytes(std::uint32_t items) const noexcept {
        return std::size_t{items} * item.output_bytes;
    }
};

/// Tags: one for everything that rank 0 hears of, one for the text of a failure, one for what it tells a rank, and for
/// each slot of a rank three of its own (the head of a grant, its items, the outputs), so that its buffer can be named
/// before a message comes.
namespace tags {
inline constexpr int control = 1;
inline constexpr int failure_text = 2;
inline constexpr int from_root = 3;
inline constexpr int first_of_slots = 16;
inline constexpr int a_slot = 3;

[[nodiscard]] constexpr int grant(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return first_of_slots + a_slot * static_cast<int>(device * depth + slot);
}
[[nodiscard]] constexpr int items(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return grant(device, slot, depth) + 1;
}
[[nodiscard]] constexpr int outputs(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return grant(device, slot, depth) + 2;
}

/// The largest tag of a rank with `devices` devices.
[[nodiscard]] constexpr std::uint64_t largest(std::uint64_t devices, std::uint64_t depth) noexcept {
    return first_of_slots + a_slot * devices * depth - 1;
}
}  // namespace tags

/// Throws Error (configuration) when the tags of a rank with `devices` devices and `depth` slots each go beyond
/// `limit`, MPI's largest tag.
void check_tags(std::uint64_t devices, std::uint64_t depth, std::uint64_t limit);

/// The largest tag of this MPI, which is initialized.
[[nodiscard]] std::uint64_t read_largest_tag();

}  // namespace sluice
