#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/buffer.hpp"
#include "core/doorbell.hpp"
#include "core/event.hpp"
#include "core/function_ref.hpp"

namespace sluice {

class Lane;

/// Work that was enqueued on a stream once and can be enqueued there again as a whole. May outlive the stream.
class Recording {
public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;
};

/// In-order queue of work on one device; every member enqueues and returns. One thread enqueues.
/// A failed operation poisons all later events of its stream, and of the streams that wait for one of those.
/// The destructor waits until everything enqueued is over.
class Stream {
public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    /// Both spans stay alive, and `from` unchanged, until an event recorded later is ready. Sizes are equal.
    virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;

    /// Later work of this stream starts after `event`, which comes from a stream of the same device.
    virtual void wait(const Event& event) = 0;

    /// Enqueues what `work` enqueues on this stream, which is the same each time that it is called with this
    /// `recording`: a device that can calls it once, and repeats what it enqueued as one piece. `work` enqueues nothing
    /// but operations of models.
    virtual void repeat(std::unique_ptr<Recording>& recording, FunctionRef<void()> work) {
        static_cast<void>(recording);
        work();
    }

    /// Does now what the first repeat() of `recording` would do beside the work: a device that repeats calls `work`
    /// without running it. Nothing elsewhere.
    virtual void prepare(std::unique_ptr<Recording>& recording, FunctionRef<void()> work) {
        static_cast<void>(recording);
        static_cast<void>(work);
    }

    /// Ready once all work enqueued before is over. Its time is kept for the next StreamOptions::records records.
    [[nodiscard]] virtual Event record() = 0;

    /// The same for an event that only tells the time: nobody is woken for it, so that nobody may wait for it.
    [[nodiscard]] virtual Event mark() = 0;
};

struct StreamOptions {
    std::size_t operations = 256;  ///< How many can be enqueued before the enqueuing thread waits for room.
    std::size_t records = 64;      ///< How many records' times are kept at least.
    Doorbell* bell =
        nullptr;           ///< Rung at each completed record(), if the device can (Device::rings); outlives the stream.
    Lane* lane = nullptr;  ///< Where the stream says what it is at, if the device can; outlives it.
};

struct DeviceMemory {
    std::uint64_t free_bytes = 0;
    std::uint64_t all_bytes = 0;
};

class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    /// "host", "NVIDIA H200 (17:00.0)".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Whether completed records ring StreamOptions::bell; if not, a waiting host thread has to poll.
    [[nodiscard]] virtual bool rings() const noexcept = 0;

    [[nodiscard]] virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options) = 0;

    /// Zero-filled, aligned to 64 bytes at least. Throws Error (out_of_memory) that names the space and the size.
    [[nodiscard]] virtual Buffer allocate(MemorySpace space, std::size_t bytes) = 0;

    /// Its own; nullopt: it allocates the process's.
    [[nodiscard]] virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
};

}  // namespace sluice
