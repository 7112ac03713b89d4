#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/chunk.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Longest step of the clock that measures a peer's silence: in a longer pause this rank itself did not run.
inline constexpr std::chrono::milliseconds longest_silence_step{100};

/// How long either side waits at the end for messages that the other may no longer receive.
inline constexpr std::chrono::milliseconds longest_farewell{200};

/// Messages of a rank to rank 0, heads of grants, and messages of rank 0 to a whole rank. Sent as bytes: all ranks run
/// the same build, which is checked at the start.
struct ControlMessage {
    enum class Kind : std::uint32_t { request, fetched, result, closed, heartbeat, failure, grant, stop, drain, end };
    Kind kind = Kind::request;
    std::uint32_t device = 0;
    std::uint32_t slot = 0;
    std::uint32_t count = 0;  ///< Items of the chunk; failure: bytes of the text; stop: the signal; end: the exit code.
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint64_t checksum = 0;  ///< result: of the outputs when they left the device.
    std::uint64_t offset = 0;    ///< grant to a rank that shares rank 0's memory: where its items begin there.
    Instant sent{};              ///< request, result, grant: send time, by the sender's clock.

    [[nodiscard]] Chunk chunk() const noexcept { return {id, first, count}; }
};
static_assert(std::is_trivially_copyable_v<ControlMessage> && sizeof(ControlMessage) == 56);

/// Which ranks copy their chunks' items from the memory where rank 0 reads them, and get none as messages.
struct SharedItems {
    std::vector<bool> ranks{};      ///< By rank; none: only rank 0, which always does.
    std::span<std::byte> memory{};  ///< As this rank has mapped it; empty where it has not.

    [[nodiscard]] bool are_of(int rank) const noexcept {
        return rank == 0 || (static_cast<std::size_t>(rank) < ranks.size() && ranks[static_cast<std::size_t>(rank)]);
    }
};

/// Message sizes, known to both sides before the first message.
struct MessageShape {
    IoShape item{};
    std::uint32_t chunk_items = 1;
    std::uint32_t depth = 1;
    std::size_t largest_message = 0;  ///< Longer ones are split.

    [[nodiscard]] std::size_t input_bytes(std::uint32_t items) const noexcept {
        return std::size_t{items} * item.input_bytes;
    }
    [[nodiscard]] std::size_t output_bytes(std::uint32_t items) const noexcept {
        return std::size_t{items} * item.output_bytes;
    }
};

/// Tags: one for control messages to rank 0, one for a failure's text, one for rank 0's messages to a rank, and three
/// per slot of a rank (head of a grant, its items, outputs), so that receives can be posted in advance.
namespace tags {
inline constexpr int control = 1;
inline constexpr int failure_text = 2;
inline constexpr int from_root = 3;
inline constexpr int first_of_slots = 16;
inline constexpr int per_slot = 3;

[[nodiscard]] constexpr int grant(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return first_of_slots + per_slot * static_cast<int>(device * depth + slot);
}
[[nodiscard]] constexpr int items(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return grant(device, slot, depth) + 1;
}
[[nodiscard]] constexpr int outputs(std::uint32_t device, std::uint32_t slot, std::uint32_t depth) noexcept {
    return grant(device, slot, depth) + 2;
}

/// The largest tag of a rank with `devices` devices.
[[nodiscard]] constexpr std::uint64_t largest(std::uint64_t devices, std::uint64_t depth) noexcept {
    return first_of_slots + per_slot * devices * depth - 1;
}
}  // namespace tags

/// Throws Error (configuration) when the tags of a rank with `devices` devices and `depth` slots each go beyond
/// `limit`, MPI's largest tag.
void check_tags(std::uint64_t devices, std::uint64_t depth, std::uint64_t limit);

/// The largest tag of this MPI, which must be initialized.
[[nodiscard]] std::uint64_t read_largest_tag();

}  // namespace sluice
