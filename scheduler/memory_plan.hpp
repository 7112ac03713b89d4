#pragma once

#include <cstdint>
#include <string_view>

#include "core/chunk.hpp"
#include "core/device.hpp"
#include "core/model.hpp"
#include "core/modes.hpp"

namespace sluice {

/// What decides how much memory the pipeline of one rank takes. Of the node's, the weights are not part: they are
/// loaded by then.
struct MemoryNeeds {
    IoShape shape{};
    std::uint64_t chunk_items = 1;
    std::uint64_t depth = 1;          ///< Slots a device.
    std::uint64_t devices = 1;        ///< Devices that this rank drives.
    std::uint64_t work_bytes = 0;     ///< Of the model on each device, at least: LoadedApp::least_room.
    std::uint64_t weight_bytes = 0;   ///< That a device with memory of its own holds a copy of.
    std::uint64_t staged_chunks = 0;  ///< Chunks of input that the readers may be ahead; 0 on other ranks than 0.
    std::uint64_t window_chunks =
        0;  ///< Chunks of results that wait for their turn to be written; 0 on other ranks than 0.
};

/// In bytes, for one rank.
struct MemoryPlan {
    std::uint64_t pinned = 0;   ///< The slots' host buffers, in and out.
    std::uint64_t device = 0;   ///< The slots' device buffers, in and out, over all devices.
    std::uint64_t work = 0;     ///< The models' own device buffers, over all devices.
    std::uint64_t staging = 0;  ///< Input read ahead.
    std::uint64_t window = 0;   ///< Results out of order.

    /// Of the node's memory. A host device's buffers are in it as well.
    [[nodiscard]] std::uint64_t host_total(DeviceKind kind) const noexcept {
        return pinned + staging + window + (kind == DeviceKind::host ? device + work : 0);
    }
};

/// Throws Error (out_of_memory) when the sum does not fit into 64 bits.
[[nodiscard]] MemoryPlan plan_memory(const MemoryNeeds& needs);

/// Throws Error (out_of_memory) when the plan needs more of the node's memory than `available` bytes.
void check_memory(const MemoryPlan& plan, DeviceKind kind, std::uint64_t available);

/// The room of each device's model where devices allocate the process's memory, of which the rank has `available`
/// bytes: a plan of these needs passes check_memory().
[[nodiscard]] ModelRoom room_on_host(const MemoryNeeds& needs, std::uint64_t available);

/// The room of the model on `device`, which has memory of its own and is driven by `ranks` ranks: an even share of it,
/// or what is free, less the slots, the weights, and a reserve for code, graphs and libraries. Throws Error
/// (out_of_memory) when the model needs more.
[[nodiscard]] ModelRoom room_on_device(const MemoryNeeds& needs, const MemoryInfo& memory, std::uint32_t ranks,
                                       std::string_view device);

}  // namespace sluice
