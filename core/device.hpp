#pragma once

#include <chrono>
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

class Activity;

/// Work that a stream has captured and launches as a whole: a CUDA graph. May outlive the stream.
class CapturedWork {
public:
    CapturedWork() = default;
    CapturedWork(const CapturedWork&) = delete;
    CapturedWork& operator=(const CapturedWork&) = delete;
    virtual ~CapturedWork() = default;
};

/// In-order queue of work on one device; every member enqueues and returns. One thread enqueues.
/// A failed operation poisons all later events of its stream, and of the streams that wait for one of those.
/// The destructor waits until everything enqueued is done.
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
    /// `captured`: a device that can captures it the first time, and launches that from then on. `work` enqueues
    /// nothing but operations of models, copies on the device and loops.
    virtual void launch(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) {
        static_cast<void>(captured);
        work();
    }

    /// Does now what the first launch() of `captured` would do beside the work: a device that captures calls `work`
    /// without running it. Nothing elsewhere.
    virtual void capture(std::unique_ptr<CapturedWork>& captured, FunctionRef<void()> work) {
        static_cast<void>(captured);
        static_cast<void>(work);
    }

    /// Enqueues a loop: while `*more` is not 0, and at most `most_rounds` times, what `body` enqueues on this stream.
    /// `body` is called once, before this returns, and enqueues what launch()'s work may; a loop in it is nested.
    /// `more` is device memory, aligned to 4 bytes, that this stream's work writes: read before each round, alive until
    /// a later event is ready. A failing round is the last. The bound is no error: later work finds `*more` as it is.
    virtual void loop(const std::uint32_t* more, std::uint32_t most_rounds, FunctionRef<void()> body) = 0;

    /// Ready once all work enqueued before is done. Its time is kept for the next StreamOptions::records records.
    [[nodiscard]] virtual Event record() = 0;

    /// The same for an event that only tells the time: nobody is woken for it, so that nobody may wait for it.
    [[nodiscard]] virtual Event mark() = 0;

    /// How long the thread that does its work could have run, but had no CPU. nullopt: it has none, or nobody counts.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> run_delay() const { return std::nullopt; }
};

struct StreamOptions {
    std::size_t operations = 256;  ///< How many can be enqueued before the enqueuing thread waits for room.
    std::size_t records = 64;      ///< How many records' times are kept at least.
    Doorbell* bell =
        nullptr;  ///< Rung at each completed record(), if the device can (Device::rings); outlives the stream.
    Activity* activity = nullptr;  ///< Where the stream says what it is at, if the device can; outlives it.
};

/// Of a device, as cudaMemGetInfo tells it.
struct MemoryInfo {
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
    [[nodiscard]] virtual std::optional<MemoryInfo> memory() const { return std::nullopt; }
};

}  // namespace sluice
