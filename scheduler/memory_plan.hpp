#pragma once

#include <cstdint>
#include <string_view>

#include "core/chunk.hpp"
#include "core/device.hpp"
#include "core/model.hpp"
#include "core/modes.hpp"

namespace sluice {

/// What determines the memory of one rank's pipeline. The weights' host memory is not included: they are already
/// loaded.
struct MemoryNeeds {
    IoShape shape{};
    std::uint64_t chunk_items = 1;
    std::uint64_t depth = 1;          ///< Slots per device.
    std::uint64_t devices = 1;        ///< Devices that this rank drives.
    std::uint64_t work_bytes = 0;     ///< Least device memory of the model, per device: LoadedApp::least_room.
    std::uint64_t weight_bytes = 0;   ///< Weights that a device with its own memory holds a copy of.
    std::uint64_t staged_chunks = 0;  ///< Chunks of input read ahead; 0 on ranks other than 0.
    std::uint64_t window_chunks = 0;  ///< Chunks of results waiting to be written in order; 0 on ranks other than 0.
};

/// In bytes, for one rank.
struct MemoryPlan {
    std::uint64_t pinned = 0;   ///< The slots' host buffers, in and out.
    std::uint64_t device = 0;   ///< The slots' device buffers, in and out, over all devices.
    std::uint64_t work = 0;     ///< The models' own device buffers, over all devices.
    std::uint64_t staging = 0;  ///< Input read ahead.
    std::uint64_t window = 0;   ///< Results out of order.

    /// Part in the node's memory, which includes a host device's buffers.
    [[nodiscard]] std::uint64_t host_total(DeviceKind kind) const noexcept {
        return pinned + staging + window + (kind == DeviceKind::host ? device + work : 0);
    }
};

/// Throws Error (out_of_memory) when the sum does not fit into 64 bits.
[[nodiscard]] MemoryPlan plan_memory(const MemoryNeeds& needs);

/// Throws Error (out_of_memory) when the plan needs more of the node's memory than `available` bytes.
void check_memory(const MemoryPlan& plan, DeviceKind kind, std::uint64_t available);

/// Room of each device's model on devices that allocate from the process's memory, of which the rank has `available`
/// bytes. The plan of `needs` must pass check_memory().
[[nodiscard]] ModelRoom room_on_host(const MemoryNeeds& needs, std::uint64_t available);

/// Room of the model on `device`, which has its own memory and is driven by `ranks` ranks: the smaller of an even share
/// and the free memory, less slots, weights and a reserve for code, graphs and libraries. Throws Error (out_of_memory)
/// when the model needs more.
[[nodiscard]] ModelRoom room_on_device(const MemoryNeeds& needs, const MemoryInfo& memory, std::uint32_t ranks,
                                       std::string_view device);

}  // namespace sluice
